"""Priorities."""

from dataclasses import astuple

import pytest

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.priority import Arrival, Dynamic, Static
from relserve.policies.scheduling.state import RelState
from tests.policies.states import COST, LIMITS, cold, order, relation


def test_arrival_goes_by_arrival_and_static_and_dynamic_by_size() -> None:
    states = [relation("big", 90, 0.0), relation("small", 3, 1.0), relation("middle", 30, 2.0)]
    Arrival().update(states, COST, LIMITS, cold)
    assert order(states) == ["big", "small", "middle"]
    for policy in (Static(), Dynamic(), Dynamic(exact=True), Dynamic(share_bases=True)):
        for s in states:
            s.priority, s.changed = None, True
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


def test_a_better_cost_model_renews_the_values_without_looking_at_the_cache() -> None:
    state, policy = relation("r", 5), Dynamic()
    policy.update([state], COST, LIMITS, lambda s: 0.5)
    twice = CostModel(*(2 * value for value in astuple(COST) if value))
    before = state.priority
    policy.update([state], twice, LIMITS, pytest.fail)
    assert before is not None
    assert state.priority == pytest.approx(2 * before)


def test_the_bases_of_steps_are_shared_by_the_relqueries_at_work() -> None:
    """One row of 100 outputs is longer alone than 20 rows of one, but keeps the others waiting for less."""
    long, wide = relation("long", 1, cap=100), relation("wide", 60, cap=2)
    at_work = [relation(f"r{i}", 1) for i in range(10)]
    for state in at_work:
        state.num_running = 1
    for policy, running, expected in [
        (Dynamic(), at_work, ["wide", "long"]),
        (Dynamic(share_bases=True), [], ["wide", "long"]),
        (Dynamic(share_bases=True), at_work, ["long", "wide"]),
    ]:
        policy.update([long, wide, *running], COST, LIMITS, cold)
        assert order([long, wide]) == expected
