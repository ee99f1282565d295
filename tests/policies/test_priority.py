"""Priorities and the starvation guard."""

import random
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.cost import CostModel
from relserve.policies.decompose import pem
from relserve.policies.guard import NoGuard, PatienceGuard, StarvationGuard
from relserve.policies.priority import Arrival, Dynamic, Static, urgency
from relserve.policies.state import Limits, RelState
from relserve.policies.variants import make

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2)
LIMITS = Limits(64, 2048, 12_000)


def relation(name: str, rows: int, arrival: float = 0.0, cap: int = 10) -> RelState:
    each = lambda: [200] * rows  # noqa: E731
    return RelState(name, arrival, rows, cap, rows, rows * 200, rows, rows * 200, waiting_row_tokens=each)


def cold(state: RelState) -> float:
    return 1.0


def order(states: list[RelState]) -> list[str]:
    return [s.rel_id for s in sorted(states, key=urgency)]


def test_arrival_goes_by_arrival_and_static_and_dynamic_by_size() -> None:
    states = [relation("big", 90, 0.0), relation("small", 3, 1.0), relation("middle", 30, 2.0)]
    Arrival().update(states, COST, LIMITS, cold)
    assert order(states) == ["big", "small", "middle"]
    for policy in (Static(), Dynamic(), Dynamic(exact=True)):
        for s in states:
            s.priority = None
        policy.update(states, COST, LIMITS, cold)
        assert order(states) == ["small", "middle", "big"], policy


def test_static_never_changes_and_dynamic_follows_progress() -> None:
    state = relation("r", 50)
    static, dynamic = Static(), Dynamic()
    static.update([state], COST, LIMITS, cold)
    fixed = state.priority
    state.num_waiting, state.waiting_tokens, state.num_running, state.changed = 10, 2000, 5, True
    static.update([state], COST, LIMITS, cold)
    assert state.priority == fixed == 50 * 210
    state.priority = None
    dynamic.update([state], COST, LIMITS, cold)
    first = state.priority
    state.num_waiting, state.waiting_tokens, state.changed = 1, 200, True
    dynamic.update([state], COST, LIMITS, cold)
    assert first is not None
    assert state.priority is not None
    assert state.priority < first


def test_a_waiting_relquery_is_measured_once_and_then_reused() -> None:
    """Eq. 12: nothing ran, nothing changed, so neither the cache nor the rows are looked at again."""
    asked: list[str] = []

    def probe(state: RelState) -> float:
        asked.append(state.rel_id)
        return 0.5

    states = [relation("a", 5), relation("b", 50)]
    policy = Dynamic()
    for _ in range(10):
        policy.update(states, COST, LIMITS, probe)
    assert asked == ["a", "b"]
    states[0].num_running, states[0].changed = 1, True
    policy.update(states, COST, LIMITS, probe)
    assert asked == ["a", "b", "a"]


def test_a_cached_prefix_makes_a_relquery_more_urgent() -> None:
    warm, chill = relation("warm", 30), relation("cold", 30)
    Dynamic().update([warm], COST, LIMITS, lambda s: 0.2)
    Dynamic().update([chill], COST, LIMITS, cold)
    assert order([chill, warm]) == ["warm", "cold"]


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
    Dynamic().update(states, COST, LIMITS, cold)
    guard = PatienceGuard(2.0)
    guard.update(states, 0.0, COST, LIMITS)
    assert states[0].fcfs is not None
    assert all(s.fcfs == states[0].fcfs for s in states)  # they came together
    expected = states[0].fcfs.seconds(COST)
    guard.update(states, 1.99 * expected, COST, LIMITS)
    assert not any(s.starved for s in states)
    guard.update(states, 2.01 * expected, COST, LIMITS)
    assert all(s.starved for s in states)


def test_patience_counts_the_work_that_was_there_before() -> None:
    states = [relation(f"r{i}", 50, float(i)) for i in range(3)]
    PatienceGuard(1.0).update(states, 2.0, COST, LIMITS)
    each = [s.fcfs.seconds(COST) for s in states if s.fcfs]
    assert each == pytest.approx([each[0], 2 * each[0], 3 * each[0]], rel=0.03)
    late = relation("late", 50, 3.0)
    PatienceGuard(1.0).update([states[2], late], 3.0, COST, LIMITS)
    assert late.fcfs is not None
    assert late.fcfs.seconds(COST) == pytest.approx(each[1])  # the others are done
    assert states[2].fcfs is not None
    assert states[2].fcfs.seconds(COST) == each[2]


def test_a_lone_relquery_has_the_time_that_it_takes_alone() -> None:
    state = relation("r", 1, 0.0)
    PatienceGuard(1.0).update([state], 0.9 * pem(state, COST, LIMITS), COST, LIMITS)
    assert state.fcfs is not None
    assert state.fcfs.seconds(COST) == pytest.approx(pem(state, COST, LIMITS), rel=0.1)
    assert not state.starved


def test_a_wrong_first_guess_of_the_cost_starves_nobody_for_good() -> None:
    state = relation("r", 10, 0.0)
    guard = PatienceGuard(2.0)
    much_too_low = CostModel(*(value / 100 for value in astuple(COST) if value))
    guard.update([state], 0.0, much_too_low, LIMITS)
    guard.update([state], pem(state, COST, LIMITS), much_too_low, LIMITS)
    assert state.starved
    guard.update([state], pem(state, COST, LIMITS), COST, LIMITS)
    assert not state.starved


def test_patience_also_ends_for_a_relquery_that_has_started() -> None:
    state = relation("r", 10, 0.0)
    guard = PatienceGuard(1.0)
    guard.update([state], 0.0, COST, LIMITS)
    state.first_scheduled_s = 0.0
    guard.update([state], 1e6, COST, LIMITS)
    assert state.starved


def test_two_guards_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="two guards"):
        make("dpu+aba", starvation_s=1.0, patience=1.0)
