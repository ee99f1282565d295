"""Apt-Serve's adaptive runtime scheduling (section 5): the iteration's type, then the batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from relserve.policies.caching.fill import BlockNeeds, allowed, begun, fitting
from relserve.policies.caching.greedy import Offers, choose
from relserve.policies.caching.requests import HIDDEN, Bools, Floats, Ints
from relserve.policies.caching.state import CachePlan, CacheView, plan_of
from relserve.policies.caching.value import Pending, Value, penalty_s, pending_s


class _Picked(NamedTuple):
    """Rows that may run, the best first, which of them are hidden, and rows that lose what they hold."""

    rows: Ints
    hidden: Bools
    dropped: Ints


@dataclass(frozen=True)
class _Choice:
    """The scheduling problem of one step."""

    view: CacheView
    needs: BlockNeeds
    value: Floats
    hidden_value: Floats

    def best(self, rows: Ints, capacity: int) -> tuple[Ints, Bools]:
        """Those of the rows to run, and which of them are hidden, in so many blocks.

        One that may hold one type only is one offer, of its blocks as that: no penalty makes it choose.
        """
        needs, tie = self.needs, self.view.requests.order[rows]
        chosen = choose(
            Offers(self.value[rows], self.hidden_value[rows], needs.kv[rows], needs.hidden[rows], tie),
            capacity,
        )
        rows = rows[chosen.which]
        return rows, allowed(self.view.requests, rows, chosen.hidden)

    def of_started(self) -> _Picked:
        """R in the whole memory: what goes on; what changes its type, or finds no memory, is dropped."""
        requests, started = self.view.requests, ~self.needs.waits
        rows, hidden = self.best(np.flatnonzero(started), self.view.memory.num_blocks)
        changes = rows[hidden != (requests.holds[rows] == HIDDEN)]
        started[rows] = False
        return _Picked(rows, hidden, np.concatenate([requests.in_order(started), changes]))

    def of_waiting(self, used: int, num_started: int) -> tuple[Ints, Bools]:
        """W in the memory that is left, as far as there are seats."""
        rows, hidden = self.best(np.flatnonzero(self.needs.waits), self.view.memory.num_blocks - used)
        seats = max(self.view.limits.max_num_seqs - num_started, 0)
        return rows[:seats], hidden[:seats]


@dataclass(frozen=True)
class AptServe:
    """Prefill or decode, whichever queue's pending times sum to more; then the best batch of that queue.

    In a prefill iteration W's requests share the memory that R leaves free, in a decode iteration R's the
    whole of it: those without a place are dropped, and where a type changes the cache is discarded and the
    iteration recomputes it (the last sentences of section 5). A prefill iteration in which nothing fits
    becomes a decode iteration. The paper has no chunked prompts; one that a step's tokens cut goes first.

    Attributes:
        value: what scheduling a request is worth.
        hybrid: whether requests may be hidden (Table 4's ablation: False).
    """

    name: str
    value: Value = field(default_factory=Pending)
    hybrid: bool = True

    def plan(self, view: CacheView) -> CachePlan:
        """See `CachingPolicy.plan`."""
        choice = choice_of(view, self.value, self.hybrid)
        decodes = ~choice.needs.waits & (choice.needs.tokens <= 1)
        pending = pending_s(view)
        for_prefill, for_decode = float(pending[~decodes].sum()), float(pending[decodes].sum())
        fits = int(choice.needs.held.sum()) <= view.memory.num_blocks
        if fits and (for_prefill > for_decode or not decodes.any()):
            plan = self._prefill(choice)
            if plan.run or not decodes.any():
                return plan
        return self._decode(choice, decodes)

    def _prefill(self, choice: _Choice) -> CachePlan:
        view, needs = choice.view, choice.needs
        cut = view.requests.in_order(~needs.waits & (needs.tokens > 1))
        rows, hidden = choice.of_waiting(int(needs.held.sum()), int((~needs.waits).sum()))
        rows = np.concatenate([cut, rows])
        hidden = np.concatenate([view.requests.holds[cut] == HIDDEN, hidden])
        whole = max(fitting(needs.tokens[rows], view.limits.max_num_batched_tokens), 1)
        return plan_of(view.requests, rows[:whole], hidden[:whole], rows[:0], "prefill", "W pends for longer")

    def _decode(self, choice: _Choice, decodes: Bools) -> CachePlan:
        requests, picked = choice.view.requests, choice.of_started()
        changes = np.isin(picked.rows, picked.dropped)
        if not changes.any():
            runs = decodes[picked.rows]
            rows, hidden = picked.rows[runs], picked.hidden[runs]
            return plan_of(requests, rows, hidden, picked.dropped, "decode", "R pends for longer")
        rows, hidden = picked.rows[changes], picked.hidden[changes]
        whole = max(fitting(requests.num_tokens[rows], choice.view.limits.max_num_batched_tokens), 1)
        return plan_of(requests, rows[:whole], hidden[:whole], picked.dropped, "prefill", "types change")


@dataclass(frozen=True)
class AptServeMixed:
    """Apt-Serve-S (section 6.7): prompts in chunks beside decodes, so that no iteration type is decided.

    The paper says no more than that. Here R and W are chosen one after the other as in the two iteration
    types, each within its own memory, and share the step's tokens as in Sarathi-Serve: decodes, then prompts
    that are under way, then new ones.
    """

    name: str
    value: Value = field(default_factory=Pending)
    hybrid: bool = True

    def plan(self, view: CacheView) -> CachePlan:
        """See `CachingPolicy.plan`."""
        choice = choice_of(view, self.value, self.hybrid)
        needs, picked = choice.needs, choice.of_started()
        used = int(np.where(picked.hidden, needs.hidden[picked.rows], needs.kv[picked.rows]).sum())
        rows, hidden = choice.of_waiting(used, len(picked.rows))
        rows, hidden = np.concatenate([picked.rows, rows]), np.concatenate([picked.hidden, hidden])
        changes = np.isin(rows, picked.dropped)
        tokens = np.where(changes, view.requests.num_tokens[rows], needs.tokens[rows])
        place = np.where(tokens <= 1, 0, np.where(needs.waits[rows] | changes, 2, 1))
        best = np.argsort(place, kind="stable")
        best = best[: begun(tokens[best], view.limits.max_num_batched_tokens)]
        return plan_of(view.requests, rows[best], hidden[best], picked.dropped, "mixed", "R, then W")


def choice_of(view: CacheView, value: Value, hybrid: bool) -> _Choice:
    """Eq. 5 for all requests: their values, less the penalty where they are hidden."""
    values = value.of(view)
    hidden_values = values - penalty_s(view) if hybrid else np.full_like(values, -1.0)
    return _Choice(view, BlockNeeds.of(view), values, hidden_values)
