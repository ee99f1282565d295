"""Deadlines among relQueries: the published urgency, and ours."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from relserve.call.rel_tag import RelTag, read_tag
from relserve.policies.scheduling.due import DueTimes, Urgency
from relserve.policies.scheduling.guard import PatienceGuard
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import RelState
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.policies.scheduling.workflow_steps import WorkflowSteps
from relserve.policies.workflows.following import IDLE_S
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


def test_a_step_of_which_nothing_is_left_has_a_place_too() -> None:
    due, plain = DueTimes(), Ranking(make(DEFAULT).priority)
    view = view_of([step("done", deadline=50.0, workflow="w"), step("b", deadline=40.0, workflow="v")])
    plain.show(view)
    assert all(0 <= value < 1 for value in due.place([0.0, 0.0], view, plain.book))


def test_with_equal_times_the_oldest_workflow_goes_first_whatever_its_step() -> None:
    old = step("old", rows=20, arrival=5.0, deadline=100.0, workflow="w1")
    young = step("young", rows=1, arrival=1.0, deadline=101.0, workflow="w2")
    assert order_of(ours(), young, old, now_s=6.0) == ["old", "young"]


def test_with_unequal_times_the_one_that_is_due_first_goes_first() -> None:
    patient = step("patient", deadline=500.0, workflow="w1")
    tight = step("tight", arrival=3.0, deadline=50.0, workflow="w2", rows=5)
    assert order_of(ours(), patient, tight, now_s=3.0) == ["tight", "patient"]


def test_a_workflow_that_cannot_be_in_time_goes_last_and_a_plain_call_keeps_its_place() -> None:
    """Of a plain call each row is of use alone, of a workflow the end."""
    hopeless = step("hopeless", rows=5, deadline=0.01, workflow="w1")
    late = step("late", rows=20, deadline=0.01)
    others = [step("in time", rows=4, deadline=60.0, workflow="w2"), relation("plain", 60)]
    assert order_of(ours(), hopeless, late, *others) == ["in time", "late", "plain", "hopeless"]


def test_a_workflow_with_time_goes_behind_a_plain_relquery_that_is_a_little_longer() -> None:
    flow = step("flow", rows=8, deadline=1000.0, workflow="w")
    assert order_of(ours(), flow, relation("short", 12), relation("long", 60)) == ["short", "flow", "long"]


def test_a_shorter_plain_relquery_goes_before_one_that_has_time_and_not_before_one_that_has_none() -> None:
    crowd = [relation(f"plain {i}", 4) for i in range(8)]
    loose = step("flow", rows=10, deadline=1000.0)
    assert order_of(ours(), loose, *crowd)[-1] == "flow"
    assert order_of(ours(), replace(loose, deadline_s=0.8), *crowd).index("flow") < 4


def test_a_plain_relquery_does_not_starve_behind_workflows() -> None:
    policy = ours()
    plain = relation("plain", 60)
    policy.order(view_of([plain]))
    is_first = False
    gone: list[str] = []
    for second in range(1, 200):
        flow = step(f"f{second}", rows=2, arrival=float(second), deadline=second + 30.0)
        order = [state.rel_id for state in policy.order(view_of([flow], float(second), gone=gone))]
        is_first, gone = order[0] == "plain", [flow.rel_id]
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


@pytest.mark.parametrize("count", [3, 200])
def test_deadlines_with_time_to_spare_change_nothing(count: int) -> None:
    """Few relQueries are handled as lists, many as vectors."""
    rows = [7 * i % 31 + 1 for i in range(count)]
    plain = [relation(f"r{i}", n) for i, n in enumerate(rows)]
    told = [step(f"r{i}", n, deadline=1e4 + i) for i, n in enumerate(rows)]
    assert order_of(ours(), *told) == order_of(ours(), *plain)


def test_others_deadlines_make_no_workflow_count_as_much_longer_than_it_is() -> None:
    """A claim of many long workflows, due before a short one, moves it only among its like."""
    claims = [step(f"claim {i}", rows=200, deadline=100.0, workflow=f"c{i}") for i in range(5)]
    short = step("short", rows=5, deadline=200.0, workflow="w")
    alike = step("alike", rows=5, deadline=150.0, workflow="v")
    assert order_of(ours(), *claims, short, alike)[:2] == ["alike", "short"]


def test_workflows_of_alike_deadlines_go_oldest_first_beside_looser_ones() -> None:
    """The short one with five times as much time is not kept behind a long one that is due before it."""
    old = step("old", rows=20, deadline=100.0, workflow="w1")
    young = step("young", rows=1, arrival=1.0, deadline=101.0, workflow="w2")
    loose = step("loose", rows=1, arrival=1.0, deadline=500.0, workflow="w3")
    assert order_of(ours(), loose, young, old, now_s=1.0) == ["loose", "old", "young"]


def test_without_a_promise_deadlines_are_kept_all_the_same() -> None:
    crowd, tight = [relation(f"plain {i}", 4) for i in range(8)], step("tight", rows=10, deadline=0.8)
    assert order_of(make(DEFAULT), tight, *crowd).index("tight") < 4
    assert order_of(make(DEFAULT), replace(tight, deadline_s=5.0), *crowd)[-1] == "tight"


def test_a_promotion_that_costs_others_too_much_is_refused() -> None:
    """A relQuery that is much shorter would wait many times as long as it takes."""
    tight = step("tight", rows=20, deadline=0.66)
    assert order_of(ours(), tight, relation("short", 1))[0] == "short"
    policy = ours()
    policy.order(view_of([relation("short", 1)]))
    late = replace(tight, arrival_s=0.5, deadline_s=1.16)
    assert order_of(policy, late, now_s=0.5)[0] == "short"


@pytest.mark.parametrize("policy", [make(DEFAULT), ours()], ids=["no promise", "patience"])
@pytest.mark.parametrize(("pace_s", "is_first"), [(0.02, False), (0.1, True)])
def test_a_workflow_that_is_late_at_the_pace_of_steps_is_due_at_once(
    policy: SchedulingPolicy, pace_s: float, is_first: bool
) -> None:
    policy = deepcopy(policy)
    policy.order(view_of([step("1", workflow="seen", stage="first")]))
    policy.order(view_of([step("2", arrival=1.0, workflow="seen", stage="last")], 1.0, gone=["1"]))
    policy.order(view_of([relation("other", 1, 2.0)], 2.0, gone=["2"]))
    policy.order(view_of([], 3.0 + IDLE_S))
    policy.book.pace_s = pace_s
    flow = step("flow", rows=10, arrival=40.0, deadline=41.8, workflow="w", stage="first")
    crowd = [relation(f"plain {i}", 4, 40.0) for i in range(8)]
    order = order_of(policy, flow, *crowd, now_s=40.0)
    assert (order.index("flow") < 5) == is_first


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


def late_workflow(aborted_s: float) -> WorkflowSteps:
    """After one that was whole and one whose second step, of two, was aborted at a time; 10.0 is too late."""
    steps = WorkflowSteps()
    for name, cap in (("whole", 10), ("broken", 80)):
        steps.take(view_of([step(f"{name} 1", rows=2, workflow=name, stage="first", deadline=10.0, cap=cap)]))
        second = step(f"{name} 2", rows=4, workflow=name, stage="last", deadline=10.0, cap=cap)
        steps.take(view_of([second], 1.0, gone=[f"{name} 1"]))
        is_whole = name == "whole"
        view = view_of([], 2.0 if is_whole else aborted_s, gone=[f"{name} 2"])
        steps.take(view if is_whole else replace(view, cancelled=frozenset([f"{name} 2"])))
    steps.take(view_of([], aborted_s + 2 * IDLE_S))
    return steps


def test_a_workflow_aborted_at_its_deadline_teaches_at_least_what_it_took() -> None:
    late, cancelled = late_workflow(10.0).learner, late_workflow(9.0).learner
    assert (late.after("first").output_tokens, cancelled.after("first").output_tokens) == (45, 10)
    assert (late.typical("last").output_tokens, cancelled.typical("last").output_tokens) == (45, 10)


def test_of_a_late_workflow_the_steps_that_never_came_are_expected() -> None:
    steps = late_workflow(10.0)
    steps.take(view_of([step("x", rows=2, workflow="x", stage="first", deadline=100.0)], 90.0))
    steps.take(replace(view_of([], 101.0, gone=["x"]), cancelled=frozenset("x")))
    steps.take(view_of([], 101.0 + 2 * IDLE_S))
    assert steps.learner.after("first").output_tokens == 45


def test_a_workflow_begins_with_its_first_step_and_a_clock_that_goes_back_harms_nothing() -> None:
    policy = ours()
    policy.order(view_of([step("1", arrival=5.0, workflow="w", deadline=60.0)], 5.0))
    second = step("2", arrival=9.0, workflow="w", deadline=60.0)
    policy.order(view_of([second], 9.0, gone=["1"]))
    assert policy.due is not None
    assert policy.due.steps.step(second, policy.book, COST).arrival_s == 5.0
    assert order_of(policy, now_s=2.0) == ["2"]


@pytest.mark.parametrize("workflow", [None, "w"])
@pytest.mark.parametrize("deadline", [-1e300, -1.7e9, -130.0, 1e-9, 1e12, 1e300])
def test_a_deadline_that_is_past_or_far_away_gains_nobody_a_place(
    deadline: float, workflow: str | None
) -> None:
    absurd = step("absurd", rows=100, deadline=deadline, workflow=workflow)
    assert order_of(ours(), absurd, step("b", deadline=60.0), relation("c", 2))[-1] == "absurd"


@pytest.mark.parametrize("workflow", [None, "w"])
def test_what_is_no_number_is_no_deadline(workflow: str | None) -> None:
    policy, nan = ours(), float("nan")
    others = [step("b", rows=3, deadline=60.0), relation("c", 2)]
    assert order_of(policy, step("nan", rows=4, deadline=nan, workflow=workflow), *others)[-1] == "nan"
    assert policy.due is not None
    assert list(policy.due.steps.with_deadline) == ["b"]
    assert read_tag({"rel_id": "r", "rel_deadline_s": nan}, 5) == RelTag("r", 1, 5)


@pytest.mark.parametrize("deadline", [-1e300, 0.0, 1e-9, 1e12, 1e300])
@pytest.mark.parametrize("variant", ["hexgen", DEFAULT])
def test_absurd_deadlines_are_ordered_like_others(variant: str, deadline: float) -> None:
    policy = make(variant, patience=2.5)
    states = [step("a", deadline=deadline), step("b", deadline=10.0), relation("c", 2)]
    assert sorted(order_of(policy, *states)) == ["a", "b", "c"]
    policy.decide(view_of([]))
    assert policy.standing(states[0], COST, 0.0) is not None
    assert policy.standing(states[2], COST, 0.0) is None
