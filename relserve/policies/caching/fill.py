"""What a step has room for: memory, seats and tokens, handed out in an order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.requests import HIDDEN, NOTHING, Bools, Ints
from relserve.policies.caching.state import CacheView


class Needs(NamedTuple):
    """What requests need, a row each.

    Attributes:
        kv, hidden: blocks that all their tokens take, as keys and values or as hidden states.
        held: blocks that they take as what they hold; 0 for those that hold nothing.
        tokens: what they have still to compute, one for those that decode.
        waits: whether they hold nothing.
    """

    kv: Ints
    hidden: Ints
    held: Ints
    tokens: Ints
    waits: Bools

    @classmethod
    def of(cls, view: CacheView) -> Needs:
        """The needs of a view's requests."""
        requests, memory = view.requests, view.memory
        num_tokens, holds = requests.num_tokens, requests.holds
        kv = -(-num_tokens // memory.kv_tokens_per_block)
        hidden = -(-num_tokens // memory.hidden_tokens_per_block)
        waits = holds == NOTHING
        held = np.where(waits, 0, np.where(holds == HIDDEN, hidden, kv))
        return cls(kv, hidden, held, num_tokens - np.where(waits, 0, requests.num_computed), waits)

    def blocks(self, hidden: bool) -> Ints:
        """Blocks that all tokens take as one of the types."""
        return self.hidden if hidden else self.kv


def fitting(costs: Ints, capacity: int) -> int:
    """How many of the first fit together."""
    return int(np.searchsorted(np.cumsum(costs), capacity, side="right"))


def begun(tokens: Ints, budget: int) -> int:
    """How many of the first compute at least one token of the step's budget."""
    return int(np.searchsorted(np.cumsum(tokens) - tokens, budget, side="left"))
