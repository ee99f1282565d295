"""As what a request should be cached: what hidden states let in against the slower steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.requests import Bools, CacheType, Floats, Ints
from relserve.policies.caching.state import BlockMemory
from relserve.policies.model.cache_costs import CacheCosts


class MemoryPressure(NamedTuple):
    """How many requests hold memory, and how many wait because there is none for them."""

    num_running: int
    num_waiting: int


class Once(NamedTuple):
    """What each request costs once for being hidden, against the steps in which it would let others in.

    Attributes:
        made: tokens whose keys and values are made again while its prompt is computed; see `tokens_made`.
        anew: tokens of its prompt that the prefix cache has as keys and values only.
        steps: that it is expected to run.
    """

    made: Ints
    anew: Ints
    steps: Floats


def tokens_made(num_prompt: Ints, begins_with: Ints, most_tokens: int) -> Ints:
    """Tokens whose keys and values a hidden prompt needs again: at each part of it, all that lie before.

    Args:
        begins_with: tokens of it that the prefix cache has as hidden states.
        most_tokens: of a step.
    """
    parts = -(-np.maximum(num_prompt - begins_with, 1) // most_tokens)
    found: Ints = parts * begins_with + most_tokens * (parts * (parts - 1) // 2)
    return found


def type_of(
    num_tokens: int,
    pressure: MemoryPressure,
    memory: BlockMemory,
    costs: CacheCosts,
    once: Once | None = None,
) -> CacheType:
    """The type for one request that comes in with so many tokens; see `hidden_pays`."""
    pays = hidden_pays(np.array([num_tokens]), pressure, memory, costs, once=once)
    return "hidden" if pays[0] else "kv"


def hidden_pays(
    num_tokens: Ints, pressure: MemoryPressure, memory: BlockMemory, costs: CacheCosts,
    freed: Ints | None = None, once: Once | None = None,
) -> Bools:  # fmt: skip
    """Where a request should be hidden: what it lets in gains more than its slower steps lose.

    As a hidden one it frees f of the M blocks, so that f/M more requests share the weights that a step reads
    once: of the step's base b, b f/M seconds are saved a step for each of those who wait. Its tokens t cost
    (hidden - kv) t seconds more a step, for all, waiting or not, and it has its share of what a step takes
    more because of any hidden ones. Both go on for as long as it runs, which
    therefore does not matter (the paper's Eq. 5 counts the loss of one step only, and against a pending time,
    so it hides what then runs slower for hundreds of steps). What its prompt costs more is paid once, and so
    weighs the less the longer it runs.

    Where hidden states are read as fast as keys and values and a step costs no more for having any, they
    always pay for prompts that are computed whole.

    Args:
        freed: blocks that each takes less; None: as its tokens say, where it shares none with others.
        once: None: its prompt costs no more.
    """
    if freed is None:
        freed = -(-num_tokens // memory.kv_tokens_per_block) - -(
            -num_tokens // memory.hidden_tokens_per_block
        )
    slower_s = (costs.hidden_token_s - costs.kv_token_s) * num_tokens.astype(np.float64)
    slower_s += costs.hidden_base_s / (pressure.num_running + 1)
    if once is not None:
        once_s = costs.made_token_s * once.made + costs.steps.prefill_per_token_s * once.anew
        slower_s += once_s / np.maximum(once.steps, 1.0)
    everyone = max(pressure.num_running + pressure.num_waiting, 1)
    gained_s = costs.steps.decode_base_s * freed / memory.num_blocks * pressure.num_waiting / everyone
    return (gained_s >= slower_s) & ((freed > 0) | (slower_s < 0))
