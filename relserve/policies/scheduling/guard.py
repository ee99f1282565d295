"""Starvation guards: who goes first whatever the priorities say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.decompose import work_left
from relserve.policies.scheduling.state import Limits, RelState, Work


class Guard(Protocol):
    """Marks relQueries as starved; they go first, the earliest to come foremost, for as long as they are."""

    def update(self, states: Sequence[RelState], now_s: float, cost: CostModel, limits: Limits) -> None:
        """Mark the starved among the relQueries in the engine."""


class NoGuard:
    """Nobody is starved."""

    def update(self, states: Sequence[RelState], now_s: float, cost: CostModel, limits: Limits) -> None:
        """See `Guard.update`."""


class StarvationGuard:
    """The paper's: a relQuery that has waited too long for its size (Eq. 13).

    unit_waiting_time(R) = waiting_time(R) / req(R_0), with the waiting time that ends when its first row is
    scheduled; above `threshold_s` (seconds per row) its priority value counts as zero.
    """

    def __init__(self, threshold_s: float) -> None:
        self.threshold_s = threshold_s

    def update(self, states: Sequence[RelState], now_s: float, cost: CostModel, limits: Limits) -> None:
        """See `Guard.update`."""
        for state in states:
            if not state.starved and state.first_scheduled_s is None:
                waited_s = now_s - state.arrival_s
                state.starved = waited_s / max(state.num_rows, 1) > self.threshold_s


class PatienceGuard:
    """Ours: a relQuery that, even if it goes first from now on, will have taken `patience` times FCFS's time.

    When it comes, all the work that is there is put down, its own included: what first come, first served
    would do before it is finished. That work is priced by the cost model of the moment, so a wrong first
    guess mends itself. Nobody is much worse off than without relserve, whatever the model and the load,
    without a threshold in seconds; and one whose first rows ran and whose other rows wait is not forgotten,
    as Eq. 13 forgets it. What it has left is what `Dynamic` estimated last.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience

    def update(self, states: Sequence[RelState], now_s: float, cost: CostModel, limits: Limits) -> None:
        """See `Guard.update`."""
        if any(state.fcfs is None for state in states):
            _meet(states, limits)
        for state in states:
            assert state.fcfs is not None
            assert state.left is not None
            done_s = now_s - state.arrival_s + state.left.alone_s
            state.starved = done_s > self.patience * state.fcfs.seconds(cost)


def _meet(states: Sequence[RelState], limits: Limits) -> None:
    """Put down for those that are new all work that came no later than they did."""
    ahead = Work(0.0, 0.0, 0.0)
    for _, together in groupby(sorted(states, key=_arrival), key=_arrival):
        group = list(together)
        ahead = Work(*map(sum, zip(ahead, *(work_left(state, limits) for state in group), strict=True)))
        for state in group:
            if state.fcfs is None:  # a row's outputs come one after another, also on an idle engine
                state.fcfs = ahead._replace(steps=max(ahead.steps, state.output_cap))


def _arrival(state: RelState) -> float:
    return state.arrival_s
