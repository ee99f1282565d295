"""relQueries in the state of their arrival, and what policies make of them, for the tests of the policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.guard import Guard, NoGuard
from relserve.policies.scheduling.order import Numbers, RelQueryOrder
from relserve.policies.scheduling.priority import Priority, alone_s
from relserve.policies.scheduling.state import EngineLimits, FreeCapacity, RelState, StepView

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2)
LIMITS = EngineLimits(64, 2048, 12_000)
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
    limits: EngineLimits = LIMITS,
    free_capacity: FreeCapacity = PLENTY,
    gone: Sequence[str] = (),
    miss_ratio: Callable[[RelState], float] = cold,
) -> StepView:
    return StepView(changed, gone, free_capacity, limits, now_s, cost, miss_ratio)


class Ranking:
    """A priority and a guard with the book that a policy keeps for them."""

    def __init__(self, priority: Priority, guard: Guard | None = None) -> None:
        self.priority, self.guard, self.book = priority, guard or NoGuard(), RelBook()
        self._values: Numbers = []

    def show(self, view: StepView) -> Ranking:
        self.book.take(view)
        self._values = self.guard.put_first(self.priority.values(view, self.book), view, self.book)
        return self

    def value(self, name: str) -> float:
        return float(self._values[self.book.slot_of[name]])

    def starved(self, *names: str) -> bool:
        return all(self.value(name) == 0.0 for name in names)

    def left_s(self, name: str) -> float:
        """Predicted seconds left, on an engine of its own."""
        return alone_s(self.book)[self.book.slot_of[name]]

    @property
    def order(self) -> list[str]:
        book = self.book
        return [
            s.rel_id
            for s in RelQueryOrder(book.states, book.slot_of, self._values, book.copy(book.arrival_s))
        ]
