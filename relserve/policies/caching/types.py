"""As what a request should be cached: what hidden states let in against the slower steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.requests import Bools, CacheType, Ints
from relserve.policies.caching.state import CacheCosts, Memory


class Pressure(NamedTuple):
    """How many requests hold memory, and how many wait because there is none for them."""

    num_running: int
    num_waiting: int


def type_of(num_tokens: int, pressure: Pressure, memory: Memory, costs: CacheCosts) -> CacheType:
    """The type for one request that comes in with so many tokens; see `hidden_pays`."""
    return "hidden" if hidden_pays(np.array([num_tokens]), pressure, memory, costs)[0] else "kv"


def hidden_pays(
    num_tokens: Ints, pressure: Pressure, memory: Memory, costs: CacheCosts, freed: Ints | None = None
) -> Bools:
    """Where a request should be hidden: what it lets in gains more than its slower steps lose.

    As a hidden one it frees f of the M blocks, so that f/M more requests share the weights that a step reads
    once: of the step's base b, b f/M seconds are saved a step for each of those who wait. Its tokens t cost
    (hidden - kv) t seconds more a step, for all, waiting or not. Both go on for as long as it runs, which
    therefore does not matter (the paper's Eq. 5 counts the loss of one step only, and against a pending time,
    so it hides what then runs slower for hundreds of steps).

    Where hidden states are read as fast as keys and values, as on the absorbed path, they always pay.

    Args:
        freed: blocks that each takes less; None: as its tokens say, where it shares none with others.
    """
    if freed is None:
        freed = -(-num_tokens // memory.kv_tokens_per_block) - -(
            -num_tokens // memory.hidden_tokens_per_block
        )
    slower_s = (costs.hidden_token_s - costs.kv_token_s) * num_tokens.astype(np.float64)
    everyone = max(pressure.num_running + pressure.num_waiting, 1)
    gained_s = costs.steps.decode_base_s * freed / memory.num_blocks * pressure.num_waiting / everyone
    return (gained_s >= slower_s) & ((freed > 0) | (slower_s < 0))
