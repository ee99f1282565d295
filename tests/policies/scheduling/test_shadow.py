"""The shadow against the simulated engine under first come, first served."""

from __future__ import annotations

import random

import pytest

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec, poisson_arrivals
from relserve.policies.scheduling.shadow import FcfsShadow
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import make
from tests.policies.states import COST, LIMITS, relation


def trace(rate: float, count: int, seed: int) -> list[RelSpec]:
    """relQueries of which every row is as long as its cap: nothing has to be guessed."""
    rng, found = random.Random(seed), []
    for number, arrival_s in enumerate(poisson_arrivals(rate, count, rng)):
        cap = rng.choice([1, 5, 10, 60])
        prompts = [tuple(rng.randrange(10**6) for _ in range(200)) for _ in range(rng.randint(1, 40))]
        found.append(RelSpec(f"r{number}", arrival_s, tuple(RowSpec(p, cap) for p in prompts), cap))
    return found


@pytest.mark.cells(3)
@pytest.mark.parametrize("rate", [0.5, 2.0, 4.0], ids=["idle", "busy", "overloaded"])
@pytest.mark.parametrize("kv_tokens", [4_000, 100_000], ids=["tight", "roomy"])
def test_it_foresees_what_the_engine_does(rate: float, kv_tokens: int) -> None:
    limits = EngineLimits(64, 2048, kv_tokens)
    rels = trace(rate, 40, 1)
    done = simulate(rels, RelQueryEngineSpec(COST, limits), make("fcfs")).latencies
    shadow = FcfsShadow()
    for rel in rels:
        shadow.advance(rel.arrival_s, COST, limits)
        state = relation(rel.rel_id, len(rel.rows), rel.arrival_s, rel.output_cap)
        shadow.arrive(state, 1.0)
    shadow.advance(1e6, COST, limits)
    ratios = sorted(shadow.latency_s[each.rel_id] / each.latency_s for each in done)
    tolerance = 0.1 if kv_tokens < 10_000 else 0.02
    assert ratios[len(ratios) // 2] == pytest.approx(1.0, abs=tolerance)
    assert ratios[len(ratios) // 10] > 1 - 2 * tolerance
    assert ratios[-len(ratios) // 10] < 1 + tolerance


def test_a_forecast_comes_true() -> None:
    shadow, states = FcfsShadow(), [relation(f"r{i}", 50, 0.0) for i in range(6)]
    for state in states:
        shadow.arrive(state, 1.0)
    forecast = []
    for now_s in (0.1, 3.0, 1e6):
        shadow.advance(now_s, COST, LIMITS)
        forecast.append(shadow.forecast(COST, LIMITS) | shadow.latency_s)
    for state in states:
        early, later, true = (each[state.rel_id] for each in forecast)
        assert early == pytest.approx(true, rel=0.7)
        assert later == pytest.approx(true, rel=0.3)


def test_work_that_came_earlier_counts_and_later_work_does_not() -> None:
    shadow = FcfsShadow()
    for number in range(3):
        shadow.arrive(relation(f"r{number}", 50, 0.0), 1.0)
    shadow.advance(1e6, COST, LIMITS)
    one, two, three = (shadow.latency_s[f"r{number}"] for number in range(3))
    assert one < two < three
    shadow.arrive(relation("late", 1, 1e6), 1.0)
    shadow.advance(2e6, COST, LIMITS)
    assert shadow.latency_s["late"] < 0.3


def test_who_is_cancelled_is_served_no_more_and_who_is_done_still_is() -> None:
    def latency_of_last(is_done: bool) -> float:
        shadow = FcfsShadow()
        for number in range(2):
            shadow.arrive(relation(f"r{number}", 60), 1.0)
        shadow.leave("r0", is_done)
        shadow.advance(1e6, COST, LIMITS)
        assert "r0" not in shadow.latency_s
        return shadow.latency_s["r1"]

    assert latency_of_last(is_done=True) > 1.3 * latency_of_last(is_done=False)


def test_more_rows_than_were_announced_take_longer() -> None:
    shadow, state = FcfsShadow(), relation("r", 1)
    shadow.arrive(state, 1.0)
    state.num_rows = 100
    shadow.arrive(state, 1.0)
    shadow.advance(1e6, COST, LIMITS)
    other = FcfsShadow()
    other.arrive(relation("r", 100), 1.0)
    other.advance(1e6, COST, LIMITS)
    assert shadow.latency_s == other.latency_s


def test_a_row_larger_than_memory_does_not_stop_it() -> None:
    shadow = FcfsShadow()
    shadow.arrive(relation("r", 3), 1.0)
    shadow.advance(1e6, COST, EngineLimits(4, 64, 10))
    assert "r" in shadow.latency_s


def test_an_id_that_comes_again_is_another_relquery() -> None:
    shadow = FcfsShadow()
    shadow.arrive(relation("large", 200), 1.0)
    shadow.arrive(relation("x", 1), 1.0)
    shadow.leave("x", is_done=True)
    shadow.arrive(relation("x", 1, 0.5), 1.0)
    assert "x" in shadow.forecast(COST, LIMITS)
    shadow.advance(1e6, COST, LIMITS)
    assert set(shadow.latency_s) == {"large", "x"}


def test_rows_that_come_after_the_others_are_done_are_all_that_is_served() -> None:
    shadow, state = FcfsShadow(), relation("r", 100)
    shadow.arrive(state, 1.0)
    shadow.advance(1e3, COST, LIMITS)
    state.num_rows = 101
    shadow.advance(2e3, COST, LIMITS)
    before = shadow._num_steps
    shadow.arrive(state, 1.0)
    shadow.advance(3e3, COST, LIMITS)
    assert shadow._num_steps - before < 15
    assert shadow.latency_s["r"] > 1e3


def test_fewer_rows_than_were_announced_do_not_keep_it_busy() -> None:
    shadow, state, late = FcfsShadow(), relation("r", 400), relation("late", 5, 1.0)
    shadow.arrive(state, 1.0)
    shadow.advance(0.1, COST, LIMITS)
    state.num_rows = 10
    shadow.advance(1e5, COST, LIMITS)
    state.num_rows = 20
    shadow.arrive(late, 1.0)
    shadow.advance(2e5, COST, LIMITS)
    assert shadow._num_steps < 500
    assert set(shadow.latency_s) == {"r", "late"}


def test_it_rests_when_the_true_engine_does() -> None:
    shadow = FcfsShadow()
    shadow.arrive(relation("r", 1000), 1.0)
    shadow.rest()
    shadow.arrive(relation("s", 1, 5.0), 1.0)
    shadow.advance(1e6, COST, LIMITS)
    assert shadow.latency_s["s"] < 0.3
