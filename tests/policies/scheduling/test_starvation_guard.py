"""The starvation guards: the paper's, and patience."""

import random
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.guard import NoGuard, PatienceGuard, StarvationGuard
from relserve.policies.scheduling.priority import Dynamic
from relserve.policies.scheduling.variants import make
from tests.policies.states import COST, Ranking, relation, view_of


@given(st.integers(1, 100), st.floats(0.01, 10), st.floats(0, 2000))
def test_nobody_waits_past_the_threshold_without_being_put_first(
    rows: int, threshold: float, now: float
) -> None:
    old, small = relation("old", rows, 0.0), relation("small", 1, now)
    ranking = Ranking(Dynamic(), StarvationGuard(threshold)).show(view_of([old, small], now))
    assert ranking.starved("old") is (now / rows > threshold)
    if ranking.starved("old"):
        assert ranking.order[0] == "old"


def test_the_starved_go_in_order_of_arrival_and_stay_first() -> None:
    rng = random.Random(0)
    states = [relation(f"r{i}", rng.randrange(1, 100), float(i)) for i in range(20)]
    ranking = Ranking(Dynamic(), StarvationGuard(0.001)).show(view_of(states, 1000.0))
    assert ranking.order == [f"r{i}" for i in range(20)]
    for state in states:
        state.first_scheduled_s = 1000.0
    ranking.show(view_of(states, 1000.0))
    assert ranking.starved(*(f"r{i}" for i in range(20)))


def test_without_a_guard_nobody_is_starved() -> None:
    assert not Ranking(Dynamic(), NoGuard()).show(view_of([relation("r", 1)], 1000.0)).starved("r")


def test_a_relquery_that_has_started_is_not_starved() -> None:
    state = relation("r", 1)
    state.first_scheduled_s = 5.0
    assert not Ranking(Dynamic(), StarvationGuard(0.1)).show(view_of([state], 100.0)).starved("r")


def test_patience_is_measured_in_a_relquerys_own_fcfs_latency() -> None:
    names = [f"r{i}" for i in range(4)]
    ranking = Ranking(Dynamic(), PatienceGuard(2.0)).show(view_of([relation(name, 10) for name in names]))
    expected = ranking.fcfs_s("r0")
    assert all(ranking.fcfs_s(name) == expected for name in names)  # they came together
    left_s = ranking.left_s("r0")
    ranking.show(view_of([], 1.99 * expected - left_s))
    assert not any(ranking.starved(name) for name in names)
    ranking.show(view_of([], 2.01 * expected - left_s))
    assert ranking.starved(*names)


def test_patience_counts_the_work_that_was_there_before() -> None:
    states = [relation(f"r{i}", 50, float(i)) for i in range(3)]
    ranking = Ranking(Dynamic(), PatienceGuard(1.0)).show(view_of(states, 2.0))
    each = [ranking.fcfs_s(s.rel_id) for s in states]
    assert each == pytest.approx([each[0], 2 * each[0], 3 * each[0]], rel=0.03)
    ranking.show(view_of([relation("late", 50, 3.0)], 3.0, gone=["r0", "r1"]))
    assert ranking.fcfs_s("late") == pytest.approx(each[1])  # the others are done
    assert ranking.fcfs_s("r2") == each[2]


def test_patience_counts_no_work_that_came_later() -> None:
    """Rows of a relQuery may be shown after those of one that came later."""
    ranking = Ranking(Dynamic(), PatienceGuard(1.0)).show(view_of([relation("second", 50, 2.0)], 2.0))
    ranking.show(view_of([relation("first", 50, 1.0), relation("third", 50, 3.0)], 3.0))
    assert ranking.fcfs_s("first") == ranking.fcfs_s("second")
    assert ranking.fcfs_s("third") == pytest.approx(3 * ranking.fcfs_s("first"), rel=0.03)


def test_a_lone_relquery_has_the_time_that_it_takes_alone() -> None:
    ranking = Ranking(Dynamic(), PatienceGuard(1.1)).show(view_of([relation("r", 1)]))
    assert ranking.fcfs_s("r") == pytest.approx(ranking.left_s("r"), rel=0.1)
    assert not ranking.starved("r")


def test_a_wrong_first_guess_of_the_cost_starves_nobody_for_good() -> None:
    much_too_low = CostModel(*(value / 100 for value in astuple(COST) if value))
    state = relation("r", 10, 0.0)
    alone_s = Ranking(Dynamic()).show(view_of([state])).left_s("r")
    ranking = Ranking(Dynamic(), PatienceGuard(2.0))
    ranking.show(view_of([state], 0.5 * alone_s, cost=much_too_low))
    assert ranking.starved("r")
    ranking.show(view_of([], 0.5 * alone_s))
    assert not ranking.starved("r")


def test_patience_also_ends_for_a_relquery_that_has_started() -> None:
    state = relation("r", 10, 0.0)
    ranking = Ranking(Dynamic(), PatienceGuard(1.0)).show(view_of([state]))
    state.first_scheduled_s = 0.0
    assert ranking.show(view_of([state], 1e6)).starved("r")


def test_patience_ends_in_time_for_what_is_left_to_be_done() -> None:
    """Left alone for so long that it can just be in time if it goes first now."""
    large, small = relation("large", 100, 0.0), relation("small", 1, 0.0)
    ranking = Ranking(Dynamic(), PatienceGuard(3.0)).show(view_of([large, small]))
    latest_s = 3.0 * ranking.fcfs_s("large") - ranking.left_s("large")
    assert not ranking.show(view_of([], 0.99 * latest_s)).starved("large")
    assert ranking.show(view_of([], 1.01 * latest_s)).starved("large")
    assert ranking.order[0] == "large"


def test_more_rows_than_announced_have_the_fcfs_latency_put_down_anew() -> None:
    announced, listed = relation("announced", 3), relation("listed", 1, 1.0)
    ranking = Ranking(Dynamic(), PatienceGuard(1.0)).show(view_of([announced, listed]))
    before = ranking.fcfs_s("announced"), ranking.fcfs_s("listed")
    listed.num_rows = listed.num_arrived = listed.num_waiting = 2
    listed.arrived_tokens = listed.waiting_tokens = 400
    ranking.show(view_of([listed]))
    assert ranking.fcfs_s("listed") == before[1]  # it might have announced them
    listed.num_unannounced = 1
    ranking.show(view_of([announced, listed]))
    assert ranking.fcfs_s("announced") == before[0]
    assert ranking.fcfs_s("listed") > before[1]


def test_two_guards_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="two guards"):
        make("dpu+aba", starvation_s=1.0, patience=1.0)
