"""What a step has room for: memory, seats and tokens, handed out in an order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.requests import HIDDEN, KV, NOTHING, Bools, Ints, RequestColumns
from relserve.policies.caching.state import CacheView


class BlockNeeds(NamedTuple):
    """What requests need, a row each.

    Attributes:
        kv, hidden: blocks that all their tokens take, as keys and values or as hidden states, without those
            that others hold as well; where they may hold one type only, both are that type's.
        held: blocks that they take as what they hold; 0 for those that hold nothing.
        shared: blocks of what they hold that others hold as well, and that are not among `held`.
        tokens: what they have still to compute, one for those that decode.
        waits: whether they hold nothing.
    """

    kv: Ints
    hidden: Ints
    held: Ints
    shared: Ints
    tokens: Ints
    waits: Bools

    @classmethod
    def of(cls, view: CacheView) -> BlockNeeds:
        """The needs of a view's requests."""
        requests, memory = view.requests, view.memory
        num_tokens, holds = requests.num_tokens, requests.holds
        kv = -(-num_tokens // memory.kv_tokens_per_block) - requests.shared_kv
        hidden = -(-num_tokens // memory.hidden_tokens_per_block) - requests.shared_hidden
        waits = holds == NOTHING
        held = np.where(waits, 0, np.where(holds == HIDDEN, hidden, kv))
        shared = np.where(holds == HIDDEN, requests.shared_hidden, requests.shared_kv)
        only = requests.only
        kv, hidden = np.where(only == HIDDEN, hidden, kv), np.where(only == KV, kv, hidden)
        return cls(kv, hidden, held, shared, num_tokens - requests.num_computed, waits)

    def blocks(self, hidden: bool) -> Ints:
        """Blocks that all tokens take as one of the types."""
        return self.hidden if hidden else self.kv


def allowed(requests: RequestColumns, rows: Ints, hidden: Bools) -> Bools:
    """Which rows are hidden: as a policy would have it, but for those that may hold one type only."""
    only = requests.only[rows]
    return np.where(only == NOTHING, hidden, only == HIDDEN)


def fitting(costs: Ints, capacity: int) -> int:
    """How many of the first fit together."""
    return int(np.searchsorted(np.cumsum(costs), capacity, side="right"))


def begun(tokens: Ints, budget: int) -> int:
    """How many of the first compute at least one token of the step's budget."""
    return int(np.searchsorted(np.cumsum(tokens) - tokens, budget, side="left"))
