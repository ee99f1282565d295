"""Priorities: which relQuery is more urgent. Lower values go first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.decompose import pem, pem_exact
from relserve.policies.scheduling.state import Limits, RelState

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

    Args:
        exact: use Algorithm 1 row by row as published; otherwise its closed form.
        share_bases: ours: of the bases of its steps count only a relQuery's part among those at work. The
            others are kept waiting by its tokens and outputs; a step's base they would pay without it too.
    """

    def __init__(self, exact: bool = False, share_bases: bool = False) -> None:
        self._estimate = pem_exact if exact else pem
        self._share_bases = share_bases
        self._cost: CostModel | None = None

    def update(
        self, states: Iterable[RelState], cost: CostModel, limits: Limits, miss_ratio: MissRatio
    ) -> None:
        """See `Priority.update`.

        A relQuery of which nothing ran or changed keeps its estimate (Eq. 12) for as long as the cost model
        is the same.
        """
        states = list(states)
        for state in states:
            moved = state.left is None or state.changed or state.num_running
            if moved and state.num_waiting:
                state.miss_ratio = miss_ratio(state)
            if moved or cost is not self._cost:
                state.left = self._estimate(state, cost, limits)
            state.changed = False
        self._cost = cost
        share = 1.0 / max(1, sum(bool(s.num_running) for s in states)) if self._share_bases else 1.0
        for state in states:
            assert state.left is not None
            state.priority = state.left.work_s + share * state.left.bases_s


def urgency(state: RelState) -> tuple[float, float, str]:
    """Sort key: starved first, then by priority value, then by arrival."""
    value = 0.0 if state.starved else state.priority
    return (value if value is not None else float("inf"), state.arrival_s, state.rel_id)
