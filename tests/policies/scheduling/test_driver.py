"""Decisions are pure, and no policy stalls the one who follows it."""

from __future__ import annotations

import copy
import random
from dataclasses import replace

import pytest

from relserve.policies.model.online import FixedCost
from relserve.policies.scheduling.driver import EVERYTHING, StepDriver
from relserve.policies.scheduling.state import FreeCapacity
from relserve.policies.scheduling.variants import NAMES, make
from tests.policies.states import COST, relation, view_of

NO_SPACE = FreeCapacity(0, 0)


@pytest.mark.parametrize("guard", [{}, {"starvation_s": 0.3}, {"patience": 1.2}])
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_writes_nothing_into_what_it_is_shown(name: str, guard: dict[str, float]) -> None:
    rng, policy = random.Random(0), make(name, **guard)
    states = [relation(f"r{i}", rng.randrange(1, 9), float(i)) for i in range(40)]
    for number in range(10):
        for state in states[:number]:
            state.num_running = state.num_decoding = state.num_waiting
            state.num_waiting = state.waiting_tokens = 0
        view = view_of(states if not number else states[:number], now_s=50.0 * number)
        before = copy.deepcopy([replace(s, waiting_row_tokens=None) for s in states])
        policy.decide(view)
        assert [replace(s, waiting_row_tokens=None) for s in states] == before


@pytest.mark.parametrize("name", NAMES)
def test_a_step_without_result_is_followed_by_one_that_holds_nothing_back(name: str) -> None:
    driver = StepDriver(make(name), FixedCost(COST))
    first = driver.decide(view_of([relation("a", 5), relation("b", 50)], free_capacity=NO_SPACE))
    assert first.reason != EVERYTHING.reason
    driver.settle(has_scheduled=False, has_more=True)
    assert not driver.is_stuck
    second = driver.decide(view_of([], free_capacity=NO_SPACE))
    assert (second.decode, second.prefill, second.max_admit) == (None, None, None)
    assert [s.rel_id for s in second.order] == [s.rel_id for s in first.order]
    driver.settle(has_scheduled=False, has_more=True)
    assert driver.is_stuck
    driver.settle(has_scheduled=True, has_more=True)
    assert driver.decide(view_of([])).reason != EVERYTHING.reason
    assert driver.reasons[EVERYTHING.reason] == 1


def test_an_idle_engine_is_not_stalled() -> None:
    driver = StepDriver(make("dpu+aba"), FixedCost(COST))
    driver.decide(view_of([]))
    driver.settle(has_scheduled=False, has_more=False)
    assert driver.decide(view_of([])).reason != EVERYTHING.reason


def test_the_outlook_tells_the_value_of_the_order_and_what_is_left() -> None:
    states = [relation("a", 5, 1.0), relation("b", 50, 2.0)]
    view = view_of(states)
    dynamic, arrival = (StepDriver(make(name), FixedCost(COST)) for name in ("dpu+aba", "fcfs"))
    for driver in (dynamic, arrival):
        driver.decide(view)
    found = dynamic.outlooks(states, view.limits, view.now_s)
    assert all(outlook.priority == outlook.left_s > 0 for outlook in found)
    assert arrival.outlooks(states, view.limits, view.now_s) == [
        (None, outlook.left_s, None) for outlook in found
    ]
