"""The paper's starvation guard."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.scheduling.guard import NoGuard, StarvationGuard
from relserve.policies.scheduling.priority import Dynamic
from relserve.policies.scheduling.variants import make
from tests.policies.states import Ranking, relation, view_of


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


def test_two_guards_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="two guards"):
        make("dpu+aba", starvation_s=1.0, patience=1.0)
