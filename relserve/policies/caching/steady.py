"""Ours: urgent requests first, the small before the large, and what has started is not preempted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from relserve.policies.caching.fill import Needs, begun, fitting
from relserve.policies.caching.requests import HIDDEN, Bools, Ints, Requests
from relserve.policies.caching.state import CachePlan, CacheView, plan_of
from relserve.policies.caching.types import Pressure, hidden_pays
from relserve.policies.caching.value import pending_s


@dataclass
class Steady:
    """Mixed steps; requests come in by urgency, and go on until they end.

    To come in, a request must leave a reserve free, into which those at work grow. Once that is used up,
    those without memory for their next token pause until another ends. One that is too late for its SLO must
    leave more, so that those that can still meet theirs find memory when they come. One request at a time
    comes in because it has waited longest, however unurgent, late or large it is, so that nothing starves.

    Attributes:
        reserve: share of the memory that stays free when requests come in; with a share of 0 one in ten has
            to be dropped in overload, in simulation.
        late_reserve: the same for those that are too late. In simulation (OPT-13B, conversations) at 2.5
            times the rate that first come, first served sustains, 65 % meet their SLO without it, 81 % with
            0.2, and 83 % with 0.3 at 4 % fewer finished a second.
        patience: how many times its SLO for the first token a request waits before it can have the turn of
            the one that has waited longest.
        patience_s: the same in seconds for those without an SLO.
        hybrid: whether requests may be hidden.
    """

    name: str
    reserve: float = 0.02
    late_reserve: float = 0.2
    patience: float = 10.0
    patience_s: float = 60.0
    hybrid: bool = True
    _turn: str = field(default="", init=False, repr=False)

    def plan(self, view: CacheView) -> CachePlan:
        """See `CachingPolicy.plan`."""
        requests, needs = view.requests, Needs.of(view)
        late = too_late(view, needs)
        order = by_urgency(requests, late)
        started, waiting = order[~needs.waits[order]], order[needs.waits[order]]
        going = going_on(view, needs, started)
        run, hidden = going.run, requests.holds == HIDDEN
        if len(run) == len(started):
            coming, hidden_too = self._coming_in(view, needs, started, *self._with_turn(view, waiting, late))
            run, hidden[coming] = np.concatenate([run, coming]), hidden_too
        run = run[: begun(needs.tokens[run], view.limits.max_num_batched_tokens)]
        return plan_of(requests, run, hidden[run], going.drop, "mixed", "urgency")

    def _with_turn(self, view: CacheView, waiting: Ints, late: Bools) -> tuple[Ints, Bools]:
        """Those that wait, first the one whose turn it is for having waited longest; and who is too late."""
        requests = view.requests
        if self._turn not in requests:
            pending, slo_s = pending_s(view)[waiting], requests.ttft_slo_s[waiting]
            limit_s = np.where(np.isinf(slo_s), self.patience_s, self.patience * slo_s)
            longest = np.lexsort((requests.order[waiting], limit_s - pending))[:1]
            if not (pending > limit_s)[longest].any():
                return waiting, late[waiting]
            self._turn = requests.ids[waiting[longest[0]]]
        first = waiting == requests.row(self._turn)
        return np.concatenate([waiting[first], waiting[~first]]), np.concatenate(
            [np.zeros(int(first.sum()), np.bool_), late[waiting[~first]]]
        )

    def _coming_in(
        self, view: CacheView, needs: Needs, started: Ints, waiting: Ints, late: Bools
    ) -> tuple[Ints, Bools]:
        """The first that fit beside the reserves, and which of them are hidden; an empty engine takes one."""
        num_blocks, used = view.memory.num_blocks, int(needs.held[started].sum())
        free = int(num_blocks * (1 - self.reserve)) - used
        hidden = self._hidden(view, needs, len(started), waiting, free)
        ends = np.cumsum(np.where(hidden, needs.hidden[waiting], needs.kv[waiting]))
        fits = ends <= np.where(late, int(num_blocks * (1 - self.late_reserve)) - used, free)
        if not len(started):
            fits[:1] = ends[:1] <= num_blocks
        come = int(np.logical_and.accumulate(fits).sum())
        come = min(come, max(view.limits.max_num_seqs - len(started), 0))
        return waiting[:come], hidden[:come]

    def _hidden(self, view: CacheView, needs: Needs, num_started: int, waiting: Ints, free: int) -> Bools:
        if not self.hybrid:
            return np.zeros(len(waiting), np.bool_)
        at_once = fitting(needs.kv[waiting], free)
        pressure = Pressure(num_started + at_once, len(waiting) - at_once)
        pays = hidden_pays(view.requests.num_tokens[waiting], pressure, view.memory, view.costs)
        return pays | (needs.kv[waiting] > view.memory.num_blocks)


def too_late(view: CacheView, needs: Needs) -> Bools:
    """Where the next token cannot come within its SLO, were its prompt computed at once and alone."""
    requests, steps = view.requests, view.costs.steps
    slo_s = np.where(np.isnan(requests.last_token_s), requests.ttft_slo_s, requests.tbt_slo_s)
    late: Bools = pending_s(view) + steps.prefill_per_token_s * needs.tokens > slo_s
    return late


def by_urgency(requests: Requests, late: Bools) -> Ints:
    """All rows, the most urgent first.

    By the rank that others give; between equals, those that are too late come last; then the first is the
    one that is expected to take the least memory for the shortest time.
    """
    left = np.maximum(requests.expected_left, 1.0)
    size = (requests.num_tokens + left / 2) * left
    rows: Ints = np.lexsort((requests.order, size, late, requests.rank))
    return rows


class Going(NamedTuple):
    """Rows at work that compute in this step, the most urgent first, and rows that lose what they hold."""

    run: Ints
    drop: Ints


def going_on(view: CacheView, needs: Needs, started: Ints) -> Going:
    """Who goes on of those at work, most urgent first; who needs blocks that are not there pauses.

    The least urgent one is dropped, and then the next, only where nobody could go on, or where a pause has
    used half of the SLO between two tokens.
    """
    requests, memory = view.requests, view.memory
    per_block = np.where(requests.holds == HIDDEN, memory.hidden_tokens_per_block, memory.kv_tokens_per_block)
    have = np.where(needs.tokens > 1, needs.held, -(-requests.num_computed // per_block))
    pressing = pending_s(view) > requests.tbt_slo_s / 2
    for number in range(len(started), 0, -1):
        rows = started[:number]
        more, free = needs.held[rows] - have[rows], memory.num_blocks - int(have[rows].sum())
        grows = np.flatnonzero(more)
        goes = np.ones(number, np.bool_)
        goes[grows[fitting(more[grows], free) :]] = False
        if free >= 0 and goes.any() and not pressing[rows[~goes]].any():
            return Going(rows[goes], started[number:])
    return Going(started[:0], started)
