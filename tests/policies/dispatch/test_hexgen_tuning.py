"""Alpha: the search, the test that tells when, and the replay that it searches by."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced
from relserve.policies.dispatch.hexgen.replay import replay
from relserve.policies.dispatch.hexgen.tuned import MOST_STEPS, TunedBalanced
from relserve.policies.dispatch.hexgen.tuning import (
    WINDOW_S,
    TuningClock,
    best_alpha,
    p_slower,
    student_above,
)
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import EngineLoad
from relserve.policies.dispatch.turns import RoundRobin
from relserve.policies.model.linear import CostModel
from relserve.policies.workflows.stages import DoneStep, PastWorkflow
from tests.modules import later
from tests.policies.dispatch.fleets import known

stats = later("scipy.stats")

FAST, SLOW = CostModel(1e-4, 0.01, 1e-4, 0.015), CostModel(3e-4, 0.02, 3e-4, 0.04)


def engines(*costs: CostModel) -> MemberTable:
    return known(*[(cost, EngineLoad(2048)) for cost in costs])


ENGINES = engines(FAST, SLOW)


@pytest.mark.parametrize("best", [0.0, 0.1, 0.3, 0.4, 0.9, 1.0])
def test_the_search_finds_the_bottom_of_a_valley(best: float) -> None:
    tried: list[float] = []

    def latency_s(alpha: float) -> float:
        tried.append(alpha)
        return (alpha - best) ** 2

    assert best_alpha(latency_s) == pytest.approx(best)
    assert len(tried) <= 8


def test_of_equal_alphas_the_smallest() -> None:
    assert best_alpha(lambda alpha: 1.0) == 0.0


samples = st.lists(st.floats(0.1, 1e3), min_size=2, max_size=40)


@pytest.mark.long
@given(latest=samples, reference=samples)
def test_the_test_is_scipys(latest: list[float], reference: list[float]) -> None:
    if min(statistics.pvariance(latest), statistics.pvariance(reference)) < 1e-6:
        return  # where scipy warns of lost precision
    expected = stats.ttest_ind(latest, reference, equal_var=False, alternative="greater").pvalue
    assert p_slower(latest, reference) == pytest.approx(expected, abs=1e-9)


@given(t=st.floats(-60, 60), freedom=st.floats(1, 500))
def test_students_tail_is_scipys(t: float, freedom: float) -> None:
    assert student_above(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-6, abs=1e-12)


def test_too_few_latencies_tell_nothing() -> None:
    assert p_slower([1000.0], [1.0, 2.0]) == 1.0
    assert p_slower([], []) == 1.0
    assert p_slower([2.0, 2.0], [1.0, 1.0]) == 0.0
    assert p_slower([1.0, 1.0], [1.0, 1.0]) == 1.0


def windows(clock: TuningClock, latencies_s: list[list[float]]) -> list[bool]:
    """What a clock says at the end of each window."""
    clock.is_due(0)
    due = []
    for number, each in enumerate(latencies_s, start=1):
        for latency_s in each:
            clock.ended(latency_s)
        due.append(clock.is_due(100.0 * number))
    return due


def test_it_is_tuned_after_the_first_window_and_when_it_became_slower() -> None:
    rng = random.Random(1)
    usual = [[rng.gauss(60, 10) for _ in range(40)] for _ in range(3)]
    slow = [rng.gauss(120, 10) for _ in range(40)]
    assert windows(TuningClock(), [*usual, slow, slow, usual[0]]) == [True, False, False, True, False, False]


def test_a_window_in_which_nothing_ended_is_no_reason() -> None:
    assert windows(TuningClock(), [[], [1.0, 2.0], [], [1.0, 2.0]]) == [False, True, False, False]


@given(clocks=st.lists(st.floats(-1e6, 1e6), max_size=50))
def test_clocks_that_jump_do_no_harm(clocks: list[float]) -> None:
    clock = TuningClock()
    for now_s in clocks:
        clock.ended(1.0)
        clock.is_due(now_s)


def past(number: int) -> list[PastWorkflow]:
    """Workflows like the paper's."""
    rng = random.Random(2)
    levels = [
        [DoneStep("link", 300, 7)] * 1, [DoneStep("candidate", 11000, 700)] * 2,
        *[[DoneStep("revise", 6000, 100)]] * 5, [DoneStep("judge", 1000, 30)] * 6,
    ]  # fmt: skip
    return [PastWorkflow(rng.uniform(0, 100), levels) for _ in range(number)]


def test_a_workflow_alone_takes_the_sum_of_its_levels() -> None:
    step = DoneStep("link", 1000, 10)
    alone = replay([PastWorkflow(5.0, [[step], [step]])], engines(FAST), RoundRobin())
    assert alone == pytest.approx([2 * step.demand.seconds(FAST, 32)])


def test_steps_side_by_side_wait_for_one_another_on_one_engine() -> None:
    step = DoneStep("judge", 1000, 1)
    both = replay([PastWorkflow(0.0, [[step, step]])], engines(FAST), RoundRobin())
    assert both == pytest.approx([0.1 + step.demand.seconds(FAST, 32)])


def test_balancing_beats_taking_turns_on_unequal_engines() -> None:
    turns = statistics.fmean(replay(past(60), ENGINES, RoundRobin()))
    balanced = statistics.fmean(replay(past(60), ENGINES, WorkloadBalanced()))
    assert balanced < turns


def test_the_replay_begins_with_idle_engines_and_leaves_theirs_as_they_are() -> None:
    members = known((FAST, EngineLoad(2048, num_waiting=3, waiting_s=7.0)))
    assert replay(past(3), members, RoundRobin()) == replay(past(3), engines(FAST), RoundRobin())
    assert (members["num_waiting"].tolist(), members["waiting_s"].tolist()) == ([3.0], [7.0])


def test_without_engines_there_is_no_replay() -> None:
    with pytest.raises(ValueError, match="no member"):
        replay(past(1), MemberTable(), WorkloadBalanced())


def test_a_dispatcher_tunes_itself_when_a_window_was_slower() -> None:
    policy = TunedBalanced()

    def ended(latency_s: float, now_s: float) -> None:
        if (tune := policy.ended(latency_s, now_s, ENGINES)) is not None:
            policy.take(tune(), now_s)

    for flow in sorted(past(60)):
        policy.arrived(flow, flow.arrival_s)
    assert policy.alpha == 0.0
    for now_s, latency_s in ((0.0, 50.0), (60.0, 51.0), (120.0, 50.0), (180.0, 52.0), (230.0, 51.0)):
        ended(latency_s, now_s)
    assert [now_s for now_s, _ in policy.alphas] == [120.0]
    for latency_s in (90.0, 91.0, 92.0):
        ended(latency_s, 300.0)
    ended(93.0, 330.0)
    assert [now_s for now_s, _ in policy.alphas] == [120.0, 330.0]
    assert policy.alphas[-1][1] == policy.alpha


def test_of_very_many_steps_the_latest_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And of a window in which there is no member to replay them on, none."""
    monkeypatch.setattr("relserve.policies.dispatch.hexgen.tuned.MOST_STEPS", 30)  # of 14 each
    policy, found = TunedBalanced(), []
    for flow in past(5):
        policy.arrived(flow, 0.0)
    monkeypatch.setattr(
        "relserve.policies.dispatch.hexgen.tuned.replay", lambda flows, *_: found.append(len(flows)) or [1.0]
    )
    assert policy.ended(1.0, 0.0, ENGINES) is None
    assert policy.ended(1.0, 100.0, MemberTable()) is None
    tune = policy.ended(1.0, 100.0, ENGINES)
    assert tune is not None
    assert (tune(), set(found)) == (0.0, {2})


@pytest.mark.performance
def test_tuning_takes_less_than_a_second(limit_s: Callable[..., float]) -> None:
    """The paper: 115 to 158 s."""
    flows, members, started = past(100), engines(FAST, SLOW, FAST, SLOW), time.perf_counter()
    best_alpha(lambda alpha: statistics.fmean(replay(flows, members, WorkloadBalanced(alpha=alpha))))
    assert time.perf_counter() - started < limit_s(1.0)


def test_what_is_replayed_came_in_the_latest_window_and_is_no_more_than_takes_half_a_second() -> None:
    policy, half = TunedBalanced(), [DoneStep("judge", 1000, 1)] * (MOST_STEPS // 2)
    for now_s in (0.0, 1.0, 2.0):
        policy.arrived(PastWorkflow(now_s, [half]), now_s)
    assert [told_s for told_s, _ in policy._past] == [1.0, 2.0]
    policy.ended(1.0, 1.5 + WINDOW_S, engines(FAST))
    assert [told_s for told_s, _ in policy._past] == [2.0]
    policy.ended(1.0, 9.0 + WINDOW_S, engines(FAST))
    assert [told_s for told_s, _ in policy._past] == [2.0], "one is always left"
