"""relQueries in the state of their arrival, for the tests of the policies."""

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.priority import urgency
from relserve.policies.scheduling.state import Limits, RelState

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2)
LIMITS = Limits(64, 2048, 12_000)


def relation(name: str, rows: int, arrival: float = 0.0, cap: int = 10) -> RelState:
    each = lambda: [200] * rows  # noqa: E731
    return RelState(name, arrival, rows, cap, rows, rows * 200, rows, rows * 200, waiting_row_tokens=each)


def cold(state: RelState) -> float:
    return 1.0


def order(states: list[RelState]) -> list[str]:
    return [s.rel_id for s in sorted(states, key=urgency)]
