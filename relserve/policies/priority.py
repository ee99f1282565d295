"""Priorities: which relQuery is more urgent. Lower values go first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Protocol

from relserve.policies.cost import CostModel
from relserve.policies.decompose import backlog_s, pem, pem_exact
from relserve.policies.state import Limits, RelState

MissRatio = Callable[[RelState], float]


class Priority(Protocol):
    """Gives relQueries their priority values."""

    def update(
        self, states: Iterable[RelState], cost: CostModel, limits: Limits, miss_ratio: MissRatio
    ) -> None:
        """Set `priority` of every state and clear `changed`.

        Args:
            miss_ratio: measures a relQuery's prefix-cache miss ratio by sampling (Eq. 11); it costs time,
                so it is called only where the value is used.
        """


class Arrival:
    """First come, first served."""

    def update(
        self, states: Iterable[RelState], cost: CostModel, limits: Limits, miss_ratio: MissRatio
    ) -> None:
        """See `Priority.update`."""
        for state in states:
            state.priority = state.arrival_s
            state.changed = False


class Static:
    """vLLM-SP: fixed at arrival, input plus output tokens of all rows (Eq. 6 and 7, identity mappings)."""

    def update(
        self, states: Iterable[RelState], cost: CostModel, limits: Limits, miss_ratio: MissRatio
    ) -> None:
        """See `Priority.update`. Rows announced but not arrived count as the mean of those that have."""
        for state in states:
            if state.priority is None:
                state.priority = state.num_rows * (state.mean_tokens + state.output_cap)
            state.changed = False


class Dynamic:
    """DPU: the predicted seconds that a relQuery has left, renewed when it made progress (Eq. 8 to 12).

    `exact` uses Algorithm 1 row by row as published; otherwise its closed form.
    """

    def __init__(self, exact: bool = False) -> None:
        self._estimate = pem_exact if exact else pem

    def update(
        self, states: Iterable[RelState], cost: CostModel, limits: Limits, miss_ratio: MissRatio
    ) -> None:
        """See `Priority.update`. A relQuery of which nothing ran or changed keeps its value (Eq. 12)."""
        for state in states:
            if state.priority is not None and not state.changed and not state.num_running:
                continue
            if state.num_waiting:
                state.miss_ratio = miss_ratio(state)
            state.priority = self._estimate(state, cost, limits)
            state.changed = False


class Guard(Protocol):
    """Marks relQueries as starved; they go first, the earliest to come foremost, until they are finished."""

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
    """Ours: a relQuery that is in the engine for longer than FCFS would have kept it, times `patience`.

    When it comes it is predicted how long it would take first come, first served: its own work and all that
    is there. So nobody is much worse off than without relserve, whatever the model and the load, without a
    threshold in seconds; and one whose first rows ran and whose other rows wait is not forgotten, as Eq. 13
    forgets it.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience

    def update(self, states: Sequence[RelState], now_s: float, cost: CostModel, limits: Limits) -> None:
        """See `Guard.update`."""
        if any(state.fcfs_s is None for state in states):
            _meet(states, cost, limits)
        for state in states:
            assert state.fcfs_s is not None
            state.starved = state.starved or now_s - state.arrival_s > self.patience * state.fcfs_s


def _meet(states: Sequence[RelState], cost: CostModel, limits: Limits) -> None:
    """Predict the FCFS latency of those that are new: all work that came no later than they did."""
    ahead_s = 0.0
    for _, together in groupby(sorted(states, key=_arrival), key=_arrival):
        group = list(together)
        ahead_s += backlog_s(group, cost, limits)
        for state in group:
            if state.fcfs_s is None:
                state.fcfs_s = ahead_s


def _arrival(state: RelState) -> float:
    return state.arrival_s


def urgency(state: RelState) -> tuple[float, float, str]:
    """Sort key: starved first, then by priority value, then by arrival."""
    value = 0.0 if state.starved else state.priority
    return (value if value is not None else float("inf"), state.arrival_s, state.rel_id)
