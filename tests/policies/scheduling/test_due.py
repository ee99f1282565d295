"""Deadlines among relQueries: the published urgency, and ours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relserve.policies.scheduling.due import DueTimes, Urgency
from relserve.policies.scheduling.guard import PatienceGuard
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import RelState
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.policies.scheduling.workflow_steps import IDLE_S, WorkflowSteps
from tests.policies.states import COST, Ranking, relation, view_of


def step(
    name: str, rows: int = 1, arrival: float = 0.0, deadline: float | None = None,
    workflow: str | None = None, stage: str = "s", cap: int = 10,
) -> RelState:  # fmt: skip
    made = relation(name, rows, arrival, cap)
    return replace(made, deadline_s=deadline, workflow_id=workflow, stage=stage if workflow else None)


def order_of(policy: SchedulingPolicy, *states: RelState, now_s: float = 0.0) -> list[str]:
    return [state.rel_id for state in policy.order(view_of(states, now_s))]


def ours(patience: float = 2.5) -> SchedulingPolicy:
    return make(DEFAULT, patience=patience)


def test_without_deadlines_values_are_left_as_they_are() -> None:
    due, plain = DueTimes(), Ranking(make(DEFAULT).priority)
    states = [relation("a", 3), step("b", 2, workflow="w")]
    view = view_of(states)
    plain.show(view)
    values = [plain.value("a"), plain.value("b")]
    assert due.place(values, view, plain.book) is values


def test_with_equal_times_the_oldest_workflow_goes_first_whatever_its_step() -> None:
    old = step("old", rows=20, arrival=5.0, deadline=100.0, workflow="w1")
    young = step("young", rows=1, arrival=1.0, deadline=101.0, workflow="w2")
    assert order_of(ours(), young, old, now_s=6.0) == ["old", "young"]


def test_with_unequal_times_the_one_that_is_due_first_goes_first() -> None:
    patient = step("patient", deadline=500.0, workflow="w1")
    tight = step("tight", arrival=3.0, deadline=50.0, workflow="w2", rows=5)
    assert order_of(ours(), patient, tight, now_s=3.0) == ["tight", "patient"]


def test_what_cannot_be_in_time_goes_last() -> None:
    hopeless = step("hopeless", rows=50, deadline=0.01, workflow="w1")
    late = step("late", deadline=-5.0)
    others = [step("in time", rows=5, deadline=60.0), relation("plain", 80)]
    assert order_of(ours(), hopeless, late, *others)[:2] == ["in time", "plain"]


def test_a_shorter_plain_relquery_goes_before_one_that_has_time_and_not_before_one_that_has_none() -> None:
    plain = relation("plain", 4)
    loose = step("flow", rows=20, deadline=1000.0)
    assert order_of(ours(), loose, plain) == ["plain", "flow"]
    book = Ranking(make(DEFAULT).priority).show(view_of([step("flow", rows=20)])).book
    needs_s = float(book.column("alone_s")[0])
    tight = step("flow", rows=20, deadline=needs_s * 1.05)
    assert order_of(ours(), tight, plain) == ["flow", "plain"]


def test_a_plain_relquery_does_not_starve_behind_workflows() -> None:
    policy = ours()
    plain = relation("plain", 60)
    policy.order(view_of([plain]))
    is_first = False
    for second in range(1, 200):
        flow = step(f"f{second}", rows=2, arrival=float(second), deadline=second + 10_000.0)
        order = [state.rel_id for state in policy.order(view_of([flow], float(second)))]
        is_first = order[0] == "plain"
        if is_first:
            break
    assert is_first
    assert isinstance(policy.guard, PatienceGuard)


def test_what_was_hopeless_is_first_in_the_end() -> None:
    policy = ours()
    policy.order(view_of([step("late", rows=5, deadline=-1.0)]))
    flows = [step(f"f{i}", arrival=1.0, deadline=9_000.0) for i in range(3)]
    assert order_of(policy, *flows, now_s=1.0)[-1] == "late"
    assert order_of(policy, now_s=700.0)[0] == "late"


def test_published_the_order_is_that_of_urgency() -> None:
    ranking = Ranking(Urgency())
    slow = step("slow", rows=40, deadline=50.0)
    quick = step("quick", rows=1, deadline=50.0)
    tight = step("tight", rows=1, deadline=1.0)
    ranking.show(view_of([slow, quick, tight, relation("plain", 1)]))
    assert ranking.order == ["tight", "slow", "quick", "plain"]
    assert ranking.value("slow") == pytest.approx(50.0 - ranking.left_s("slow"))


def test_published_a_step_has_its_share_of_what_is_left() -> None:
    """Of two equal steps with one deadline, that before more work has the smaller share, and goes first."""
    urgency = Urgency()
    ranking = Ranking(urgency)
    first = step("1", rows=3, workflow="seen", stage="first")
    ranking.show(view_of([first]))
    last = step("2", rows=9, arrival=1.0, workflow="seen", stage="last")
    ranking.show(view_of([last], 1.0, gone=["1"]))
    ranking.show(view_of([], 2.0, gone=["2"]))
    ranking.show(view_of([], 3.0 + IDLE_S))
    assert urgency.steps.learner.after("first").prompt_tokens == 9 * 200
    states = [
        step("a", rows=3, arrival=40.0, deadline=100.0, workflow="x", stage="last"),
        step("b", rows=3, arrival=40.0, deadline=100.0, workflow="y", stage="first"),
    ]
    ranking.show(view_of(states, 40.0))
    assert ranking.order == ["b", "a"]


def test_steps_side_by_side_are_one_level_and_count_once() -> None:
    steps = WorkflowSteps()
    fan = [step(name, rows=2, workflow="w", stage="fan") for name in "ab"]
    steps.take(view_of(fan))
    after = step("c", rows=4, arrival=1.0, workflow="w", stage="end")
    steps.take(view_of([after], 1.0, gone=["a", "b"]))
    steps.take(view_of([], 2.0, gone=["c"]))
    steps.take(view_of([], 2.0 + 2 * IDLE_S))
    assert steps.learner.after("fan").prompt_tokens == 4 * 200
    assert steps.learner.typical("fan").prompt_tokens == 2 * 200


def test_a_cancelled_workflow_teaches_nothing_of_what_comes_after() -> None:
    steps = WorkflowSteps()
    steps.take(view_of([step("a", workflow="w", stage="x")]))
    view = replace(view_of([], 1.0, gone=["a"]), cancelled=frozenset("a"))
    steps.take(view)
    steps.take(view_of([], 2.0 + IDLE_S))
    assert steps.learner.after("x").prompt_tokens == 0


def test_a_workflow_begins_with_its_first_step_and_a_clock_that_goes_back_harms_nothing() -> None:
    policy = ours()
    policy.order(view_of([step("1", arrival=5.0, workflow="w", deadline=60.0)], 5.0))
    second = step("2", arrival=9.0, workflow="w", deadline=60.0)
    policy.order(view_of([second], 9.0, gone=["1"]))
    assert policy.due is not None
    assert policy.due.steps.step(second, policy.book, COST).arrival_s == 5.0
    assert order_of(policy, now_s=2.0) == ["2"]


@pytest.mark.parametrize("deadline", [-1e300, -1.7e9, -130.0])
def test_a_deadline_long_past_gains_nobody_a_place(deadline: float) -> None:
    past = step("past", rows=500, deadline=deadline)
    assert order_of(ours(), past, step("b", deadline=60.0), relation("c", 2))[-1] == "past"


@pytest.mark.parametrize("deadline", [-1e300, 0.0, 1e300])
@pytest.mark.parametrize("variant", ["hexgen", DEFAULT])
def test_absurd_deadlines_are_ordered_like_others(variant: str, deadline: float) -> None:
    policy = make(variant, patience=2.5)
    states = [step("a", deadline=deadline), step("b", deadline=10.0), relation("c", 2)]
    assert sorted(order_of(policy, *states)) == ["a", "b", "c"]
    policy.decide(view_of([]))
    assert policy.standing(states[0], COST, 0.0) is not None
    assert policy.standing(states[2], COST, 0.0) is None
