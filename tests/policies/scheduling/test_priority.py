"""Priorities."""

from dataclasses import astuple

import pytest

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.priority import (
    Dynamic,
    FirstComeFirstServed,
    StaticPriority,
)
from relserve.policies.scheduling.state import RelState
from tests.policies.states import COST, Ranking, relation, view_of


def test_arrival_goes_by_arrival_and_static_and_dynamic_by_size() -> None:
    states = [relation("big", 90, 0.0), relation("small", 3, 1.0), relation("middle", 30, 2.0)]
    assert Ranking(FirstComeFirstServed()).show(view_of(states)).order == ["big", "small", "middle"]
    for policy in (StaticPriority(), Dynamic(), Dynamic(exact=True), Dynamic(share_bases=True)):
        assert Ranking(policy).show(view_of(states)).order == ["small", "middle", "big"], policy


def test_static_never_changes_and_dynamic_follows_progress() -> None:
    state = relation("r", 50)
    static, dynamic = Ranking(StaticPriority()), Ranking(Dynamic())
    static.show(view_of([state]))
    fixed = static.value("r")
    state.num_waiting, state.waiting_tokens, state.num_running = 10, 2000, 5
    static.show(view_of([state]))
    assert static.value("r") == fixed == 50 * 210
    dynamic.show(view_of([state]))
    first = dynamic.value("r")
    state.num_waiting, state.waiting_tokens = 1, 200
    dynamic.show(view_of([state]))
    assert dynamic.value("r") < first


def test_a_waiting_relquery_is_measured_once_and_then_reused() -> None:
    """Eq. 12: nothing ran, nothing changed, so neither the cache nor the rows are looked at again."""
    asked: list[str] = []

    def probe(state: RelState) -> float:
        asked.append(state.rel_id)
        return 0.5

    states = [relation("a", 5), relation("b", 50)]
    ranking = Ranking(Dynamic()).show(view_of(states, miss_ratio=probe))
    for _ in range(9):
        ranking.show(view_of([], miss_ratio=probe))
    assert asked == ["a", "b"]
    states[0].num_running = 1
    ranking.show(view_of(states[:1], miss_ratio=probe))
    assert asked == ["a", "b", "a"]
    ranking.show(view_of([], miss_ratio=probe))  # it runs, so it may have put something into the cache
    assert asked == ["a", "b", "a", "a"]


def test_a_cached_prefix_makes_a_relquery_more_urgent() -> None:
    warm, chill = relation("warm", 30), relation("cold", 30)
    shares = {"warm": 0.2, "cold": 1.0}
    ranking = Ranking(Dynamic()).show(view_of([chill, warm], miss_ratio=lambda s: shares[s.rel_id]))
    assert ranking.order == ["warm", "cold"]


def test_a_better_cost_model_renews_the_values_without_looking_at_the_cache() -> None:
    ranking = Ranking(Dynamic()).show(view_of([relation("r", 5)], miss_ratio=lambda s: 0.5))
    before = ranking.value("r")
    twice = CostModel(*(2 * value for value in astuple(COST) if value))
    ranking.show(view_of([], cost=twice, miss_ratio=pytest.fail))
    assert ranking.value("r") == pytest.approx(2 * before)


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
        found = Ranking(policy).show(view_of([long, wide, *running])).order
        assert [name for name in found if name in expected] == expected


@pytest.mark.parametrize("policy", [StaticPriority(), Dynamic()])
def test_rows_beyond_those_announced_have_the_relquery_estimated_anew(
    policy: StaticPriority | Dynamic,
) -> None:
    """A list of prompts over HTTP announces one row, and its rows may come over several steps."""
    state = relation("listed", 1)
    ranking = Ranking(policy).show(view_of([state]))
    before = ranking.value("listed")
    state.num_rows = state.num_arrived = state.num_waiting = 2
    state.waiting_tokens = state.arrived_tokens = 400
    state.num_unannounced = 1
    assert ranking.show(view_of([state])).value("listed") > before
