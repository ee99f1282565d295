"""Which prefill batches fit a step, and what keeps the rest out."""

from __future__ import annotations

import pytest

from relserve.policies.scheduling.arrange import PrefillCandidate
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.state import EngineLimits, FreeCapacity, RelState
from relserve.policies.scheduling.variants import DEFAULT, make
from tests.policies.states import PLENTY, view_of

LIMITS = EngineLimits(max_num_seqs=64, max_num_batched_tokens=1000, kv_tokens=100_000)


def candidates(states: list[RelState], free_capacity: FreeCapacity) -> list[PrefillCandidate]:
    """In the order given."""
    policy = make(DEFAULT)
    view = view_of(states, limits=LIMITS, free_capacity=free_capacity)
    policy.book.take(view)
    return policy.candidates(view, RelQueryOrder.of(states, [float(place) for place in range(len(states))]))


def waiting(num_rows: int) -> RelState:
    return RelState(
        "w", 0.0, num_rows, 10, num_arrived=num_rows, num_waiting=num_rows, waiting_tokens=100 * num_rows,
        arrived_tokens=100 * num_rows,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("free_capacity", "num_rows", "admitted", "is_held_up"),
    [
        (PLENTY, 4, 4, False),
        (PLENTY, 40, 10, False),  # by the step's budget alone
        (FreeCapacity(30, 100_000), 40, 10, True),  # in this step by the budget, later by slots
        (FreeCapacity(64, 3000), 40, 10, True),
        (FreeCapacity(3, 100_000), 40, 3, True),
        (FreeCapacity(64, 500), 40, 4, True),
        (FreeCapacity(3, 100_000), 3, 3, False),
    ],
)
def test_rows_are_held_up_by_slots_and_memory_not_by_the_budget(
    free_capacity: FreeCapacity, num_rows: int, admitted: int, is_held_up: bool
) -> None:
    running = RelState("r", 0.0, 1, 10, num_arrived=1, num_running=1)
    found = candidates([running, waiting(num_rows)], free_capacity)
    assert [(c.state.rel_id, c.num_rows, c.held_up) for c in found] == [("w", admitted, is_held_up)]


def test_a_relquery_that_does_not_all_fit_ends_the_list() -> None:
    later = waiting(1)
    later.rel_id = "later"
    found = candidates([waiting(40), later], FreeCapacity(3, 100_000))
    assert [c.state.rel_id for c in found] == ["w"]
