"""relQueries in the state of their arrival, and what policies make of them, for the tests of the policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.decompose import SharedWork
from relserve.policies.scheduling.guard import Guard, NoGuard, fcfs_work
from relserve.policies.scheduling.order import Order
from relserve.policies.scheduling.priority import Priority, alone_s
from relserve.policies.scheduling.state import FreeCapacity, Limits, RelState, StepView

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2)
LIMITS = Limits(64, 2048, 12_000)
PLENTY = FreeCapacity(64, 100_000)


def relation(name: str, rows: int, arrival: float = 0.0, cap: int = 10) -> RelState:
    each = lambda: [200] * rows  # noqa: E731
    return RelState(name, arrival, rows, cap, rows, rows * 200, rows, rows * 200, waiting_row_tokens=each)


def cold(state: RelState) -> float:
    return 1.0


def view_of(
    changed: Sequence[RelState],
    now_s: float = 0.0,
    cost: CostModel = COST,
    limits: Limits = LIMITS,
    free_capacity: FreeCapacity = PLENTY,
    gone: Sequence[str] = (),
    miss_ratio: Callable[[RelState], float] = cold,
) -> StepView:
    return StepView(changed, gone, free_capacity, limits, now_s, cost, miss_ratio)


class Ranking:
    """A priority and a guard with the book that a policy keeps for them."""

    def __init__(self, priority: Priority, guard: Guard | None = None) -> None:
        self.priority, self.guard, self.book = priority, guard or NoGuard(), RelBook()
        self._values, self._starved, self._cost = np.empty(0), np.empty(0, dtype=bool), COST

    def show(self, view: StepView) -> Ranking:
        self.book.take(view)
        self._values = self.priority.values(view, self.book)
        self._starved = self.guard.starved(view, self.book)
        self._cost = view.cost.linear
        return self

    def value(self, name: str) -> float:
        return float(self._values[self.book.slot_of[name]])

    def starved(self, *names: str) -> bool:
        return all(self._starved[self.book.slot_of[name]] for name in names)

    def left_s(self, name: str) -> float:
        """Predicted seconds left, on an engine of its own."""
        return float(alone_s(self.book)[self.book.slot_of[name]][0])

    def fcfs_s(self, name: str) -> float:
        """Predicted latency under FCFS, as put down at arrival."""
        return float(SharedWork(*fcfs_work(self.book)[[self.book.slot_of[name]]]).seconds(self._cost)[0])

    @property
    def order(self) -> list[str]:
        values = np.where(self._starved, 0.0, self._values)
        return [s.rel_id for s in Order(self.book.states, self.book.slot_of, values, self.book.arrival_s)]
