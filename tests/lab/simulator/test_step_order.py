"""The orders in which an engine takes steps, and the queue that keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.simulator.workflows.order import DueOrder, StepOrder, first_come, most_urgent
from lab.simulator.workflows.queue import StepQueue
from relserve.policies.workflows.types import QueuedStep
from tests.policies.workflows.steps import queued

ORDERS = {"first come": first_come, "most urgent": most_urgent, "due": DueOrder()}


def drained(order: StepOrder, steps: list[QueuedStep], now_s: float = 0.0) -> list[QueuedStep]:
    """All steps in the order in which they are taken."""
    queue = StepQueue(order)
    for step in steps:
        queue.add(step, now_s)
    taken = []
    while len(queue):
        number, step = queue.first(now_s)
        queue.withdraw(number)
        taken.append(step)
    return taken


def names(steps: list[QueuedStep]) -> list[str]:
    return [step.workflow for step in steps]


def test_equal_deadlines_put_the_oldest_workflow_first() -> None:
    young = queued("young", queued_s=50, arrival_s=40, deadline_s=140)
    old = queued("old", queued_s=60, arrival_s=10, deadline_s=110)
    assert names(drained(DueOrder(), [young, old], 60)) == ["old", "young"]
    assert names(drained(first_come, [young, old], 60)) == ["young", "old"]


def test_unequal_deadlines_put_the_tight_one_first() -> None:
    loose = queued("loose", arrival_s=0, deadline_s=500)
    tight = queued("tight", arrival_s=30, queued_s=30, deadline_s=90)
    for order in (most_urgent, DueOrder()):
        assert names(drained(order, [loose, tight], 30)) == ["tight", "loose"]


def test_the_hopeless_step_back_while_they_wait() -> None:
    queue = StepQueue(DueOrder())
    tight = queue.add(queued("tight", deadline_s=50, work_left_s=20), 0)
    queue.add(queued("loose", deadline_s=80, work_left_s=20), 0)
    assert queue.first(30)[1].workflow == "tight"
    assert queue.first(31)[1].workflow == "loose"
    assert queue.first(29)[1].workflow == "loose"  # a clock that goes back does not bring hope
    queue.withdraw(tight)
    assert len(queue) == 1


def test_the_hopeless_are_served_oldest_first() -> None:
    steps = [queued(str(at), arrival_s=at, deadline_s=at + 10) for at in (3, 1, 2)]
    assert names(drained(DueOrder(), steps, 1000)) == ["1", "2", "3"]


def test_a_plain_relquery_goes_before_deadlines_later_than_its_own_due_time() -> None:
    plain = queued("plain", deadline_s=None)
    soon, late = queued("soon", deadline_s=200), queued("late", deadline_s=400)
    assert names(drained(DueOrder(plain_slo_s=300), [late, plain, soon])) == ["soon", "plain", "late"]


@pytest.mark.parametrize("name", [name for name in ORDERS if name != "most urgent"])
def test_no_workflow_without_a_deadline_starves(name: str) -> None:
    """A tight workflow comes every second, one step is served a second: the plain one has its turn."""
    queue = StepQueue(ORDERS[name])
    queue.add(queued("plain", deadline_s=None), 0)
    for now in range(2000):
        queue.add(queued("tight", queued_s=now, arrival_s=now, deadline_s=now + 10, work_left_s=1), now)
        number, step = queue.first(now)
        queue.withdraw(number)
        if step.workflow == "plain":
            return
    pytest.fail("it starved")


def test_as_published_a_workflow_without_a_deadline_starves() -> None:
    """What the guard above is against."""
    queue = StepQueue(most_urgent)
    queue.add(queued("plain", deadline_s=None), 0)
    for now in range(2000):
        queue.add(queued("tight", queued_s=now, arrival_s=now, deadline_s=now + 10), now)
        number, step = queue.first(now)
        queue.withdraw(number)
        assert step.workflow == "tight"


def test_a_step_that_is_gone_cannot_be_withdrawn_again() -> None:
    queue = StepQueue(first_come)
    number = queue.add(queued(), 0)
    queue.withdraw(number)
    with pytest.raises(KeyError):
        queue.withdraw(number)
    with pytest.raises(IndexError):
        queue.first(0)


steps_of_any_kind = st.builds(
    queued,
    workflow=st.sampled_from("abcdef"),
    queued_s=st.floats(-1e3, 1e3),
    arrival_s=st.floats(-1e3, 1e3),
    deadline_s=st.none() | st.floats(-1e3, 1e3),
    work_s=st.just(0.0) | st.floats(1e-3, 1e3),
    work_left_s=st.floats(0, 1e3),
)


@given(
    steps=st.lists(steps_of_any_kind),
    clocks=st.lists(st.floats(-2e3, 2e3)),
    name=st.sampled_from(list(ORDERS)),
)
def test_every_step_is_taken_once_whatever_the_clock_does(
    steps: list[QueuedStep], clocks: list[float], name: str
) -> None:
    queue = StepQueue(ORDERS[name])
    numbers = {queue.add(step, step.queued_s): step for step in steps}
    taken = {}
    for now_s in [*clocks, *[0.0] * len(steps)]:
        if not len(queue):
            break
        number, step = queue.first(now_s)
        queue.withdraw(number)
        assert number not in taken
        taken[number] = step
    assert taken == numbers


@given(
    steps=st.lists(steps_of_any_kind, min_size=2),
    now_s=st.floats(-2e3, 2e3),
    name=st.sampled_from(list(ORDERS)),
)
def test_the_queue_takes_the_least_key(steps: list[QueuedStep], now_s: float, name: str) -> None:
    order = ORDERS[name]
    keys = [order(step, now_s) for step in drained(order, steps, now_s)]
    assert keys == sorted(keys)
