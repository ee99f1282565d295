"""The starvation guards: the paper's, and patience."""

import random
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.guard import NoGuard, PatienceGuard, StarvationGuard
from relserve.policies.scheduling.priority import Dynamic
from relserve.policies.scheduling.state import RelState
from relserve.policies.scheduling.variants import make
from tests.policies.states import COST, LIMITS, cold, order, relation


def estimated(states: list[RelState]) -> float:
    """Estimate what each has left; gives the seconds of the last."""
    Dynamic().update(states, COST, LIMITS, cold)
    left = states[-1].left
    assert left is not None
    return left.alone_s


@given(st.integers(1, 100), st.floats(0.01, 10), st.floats(0, 2000))
def test_nobody_waits_past_the_threshold_without_being_put_first(
    rows: int, threshold: float, now: float
) -> None:
    old, small = relation("old", rows, 0.0), relation("small", 1, now)
    Dynamic().update([old, small], COST, LIMITS, cold)
    StarvationGuard(threshold).update([old, small], now, COST, LIMITS)
    assert old.starved is (now / rows > threshold)
    if old.starved:
        assert order([small, old])[0] == "old"


def test_the_starved_go_in_order_of_arrival_and_stay_first() -> None:
    rng = random.Random(0)
    states = [relation(f"r{i}", rng.randrange(1, 100), float(i)) for i in range(20)]
    Dynamic().update(states, COST, LIMITS, cold)
    StarvationGuard(0.001).update(states, 1000.0, COST, LIMITS)
    assert order(states) == [f"r{i}" for i in range(20)]
    NoGuard().update(states, 1000.0, COST, LIMITS)
    assert all(s.starved for s in states)


def test_a_relquery_that_has_started_is_not_starved() -> None:
    state = relation("r", 1)
    state.first_scheduled_s = 5.0
    StarvationGuard(0.1).update([state], 100.0, COST, LIMITS)
    assert not state.starved


def test_patience_is_measured_in_a_relquerys_own_fcfs_latency() -> None:
    states = [relation(f"r{i}", 10, 0.0) for i in range(4)]
    estimated(states)
    guard = PatienceGuard(2.0)
    guard.update(states, 0.0, COST, LIMITS)
    assert states[0].fcfs is not None
    assert states[0].left is not None
    assert all(s.fcfs == states[0].fcfs for s in states)  # they came together
    expected = states[0].fcfs.seconds(COST)
    left_s = states[0].left.alone_s
    guard.update(states, 1.99 * expected - left_s, COST, LIMITS)
    assert not any(s.starved for s in states)
    guard.update(states, 2.01 * expected - left_s, COST, LIMITS)
    assert all(s.starved for s in states)


def test_patience_counts_the_work_that_was_there_before() -> None:
    states = [relation(f"r{i}", 50, float(i)) for i in range(3)]
    estimated(states)
    PatienceGuard(1.0).update(states, 2.0, COST, LIMITS)
    each = [s.fcfs.seconds(COST) for s in states if s.fcfs]
    assert each == pytest.approx([each[0], 2 * each[0], 3 * each[0]], rel=0.03)
    late = relation("late", 50, 3.0)
    estimated([late])
    PatienceGuard(1.0).update([states[2], late], 3.0, COST, LIMITS)
    assert late.fcfs is not None
    assert late.fcfs.seconds(COST) == pytest.approx(each[1])  # the others are done
    assert states[2].fcfs is not None
    assert states[2].fcfs.seconds(COST) == each[2]


def test_a_lone_relquery_has_the_time_that_it_takes_alone() -> None:
    state = relation("r", 1, 0.0)
    alone_s = estimated([state])
    PatienceGuard(1.1).update([state], 0.0, COST, LIMITS)
    assert state.fcfs is not None
    assert state.fcfs.seconds(COST) == pytest.approx(alone_s, rel=0.1)
    assert not state.starved


def test_a_wrong_first_guess_of_the_cost_starves_nobody_for_good() -> None:
    state = relation("r", 10, 0.0)
    guard = PatienceGuard(2.0)
    much_too_low = CostModel(*(value / 100 for value in astuple(COST) if value))
    dynamic, alone_s = Dynamic(), estimated([state])
    dynamic.update([state], much_too_low, LIMITS, cold)
    guard.update([state], 0.5 * alone_s, much_too_low, LIMITS)
    assert state.starved
    dynamic.update([state], COST, LIMITS, cold)
    guard.update([state], 0.5 * alone_s, COST, LIMITS)
    assert not state.starved


def test_patience_also_ends_for_a_relquery_that_has_started() -> None:
    state = relation("r", 10, 0.0)
    estimated([state])
    guard = PatienceGuard(1.0)
    guard.update([state], 0.0, COST, LIMITS)
    state.first_scheduled_s = 0.0
    guard.update([state], 1e6, COST, LIMITS)
    assert state.starved


def test_patience_ends_in_time_for_what_is_left_to_be_done() -> None:
    """Left alone for so long that it can just be in time if it goes first now."""
    large, small = relation("large", 100, 0.0), relation("small", 1, 0.0)
    estimated([large, small])
    guard = PatienceGuard(3.0)
    guard.update([large, small], 0.0, COST, LIMITS)
    assert large.fcfs is not None
    assert large.left is not None
    latest_s = 3.0 * large.fcfs.seconds(COST) - large.left.alone_s
    guard.update([large, small], 0.99 * latest_s, COST, LIMITS)
    assert not large.starved
    guard.update([large, small], 1.01 * latest_s, COST, LIMITS)
    assert large.starved
    assert order([small, large])[0] == "large"


def test_two_guards_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="two guards"):
        make("dpu+aba", starvation_s=1.0, patience=1.0)
