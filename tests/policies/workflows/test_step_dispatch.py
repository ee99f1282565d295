"""To which engine a step goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.cost import CostModel
from relserve.policies.workflows.budget import StepBudget
from relserve.policies.workflows.dispatch import (
    Dispatch,
    EngineState,
    LeastRequests,
    NewStep,
    PredictedFinish,
    RoundRobin,
    WeightedRoundRobin,
    WorkloadBalanced,
    prompts_s,
)
from relserve.policies.workflows.types import Demand

FAST, SLOW = CostModel(1e-4, 0.01, 1e-4, 0.015), CostModel(3e-4, 0.02, 3e-4, 0.04)
MAKERS: dict[str, Callable[[], Dispatch]] = {
    "round robin": RoundRobin, "weighted": WeightedRoundRobin, "least": LeastRequests,
    "balanced": WorkloadBalanced, "repaired": lambda: WorkloadBalanced(queue=prompts_s),
    "finish": PredictedFinish,
}  # fmt: skip
STEP = NewStep("w", "candidate", Demand(10_000, 700))


def fast(name: str = "fast", **kwargs: Any) -> EngineState:
    return replace(EngineState(name, FAST, 512), **kwargs)


def slow(name: str = "slow", **kwargs: Any) -> EngineState:
    return replace(EngineState(name, SLOW, 512), **kwargs)


def chosen(dispatch: Dispatch, engines: Sequence[EngineState], number: int) -> Counter[str]:
    return Counter(engines[dispatch.choose(STEP, engines)].name for _ in range(number))


def test_round_robin_takes_turns() -> None:
    assert chosen(RoundRobin(), [fast(), slow()], 10) == {"fast": 5, "slow": 5}


def test_weighted_round_robin_goes_by_speed_and_spreads() -> None:
    dispatch, engines = WeightedRoundRobin(), [fast(), slow()]
    order = [engines[dispatch.choose(STEP, engines)].name for _ in range(8)]
    assert Counter(order) == {"fast": 6, "slow": 2}
    assert "slow" in order[:4]


def test_least_requests_counts_those_that_run() -> None:
    engines = [fast(num_running=3), slow(num_waiting=1, num_running=1)]
    assert LeastRequests().choose(STEP, engines) == 1


def test_least_requests_takes_turns_where_there_are_as_many() -> None:
    assert chosen(LeastRequests(), [fast("a"), fast("b"), slow("c")], 9) == {"a": 3, "b": 3, "c": 3}


def test_as_published_alpha_weighs_the_queue_against_the_speed() -> None:
    """Eq. 4: 700 / 100 - 0.3 * 22.9 against 700 / 40 - 0.3 * 37.7, by hand."""
    engines = [fast(waiting_s=100.0), slow(waiting_s=40.0)]
    assert WorkloadBalanced(alpha=0.3, beta=1000.0).choose(STEP, engines) == 1
    assert WorkloadBalanced(alpha=0.3, beta=100.0).choose(STEP, engines) == 0
    assert WorkloadBalanced(alpha=0.0).choose(STEP, engines) == 1
    assert WorkloadBalanced(alpha=1.0).choose(STEP, engines) == 0


def test_as_published_an_engine_without_a_queue_is_the_best() -> None:
    """Where the first term has no value."""
    assert WorkloadBalanced(alpha=0.9).choose(STEP, [fast(waiting_s=0.1), slow()]) == 1
    assert WorkloadBalanced(alpha=0.3).choose(STEP, [slow(), fast()]) == 1
    assert WorkloadBalanced(alpha=0.3).choose(STEP, [fast("a", num_running=2), fast("b")]) == 1
    assert WorkloadBalanced(alpha=0.0).choose(STEP, [fast(num_running=2), slow()]) == 1


def test_as_published_what_runs_does_not_count_repaired_it_does() -> None:
    engines = [fast(num_running=9, prompt_tokens=1e6), slow()]
    assert WorkloadBalanced(alpha=0.3).choose(STEP, engines) == 0
    assert WorkloadBalanced(alpha=0.3, queue=prompts_s).choose(STEP, engines) == 1


def test_predicted_finish_counts_what_runs_and_what_waits() -> None:
    assert PredictedFinish().choose(STEP, [fast(), slow()]) == 0
    assert PredictedFinish().choose(STEP, [fast(num_running=9, prompt_tokens=1e6), slow()]) == 1


def test_predicted_finish_goes_where_the_prompt_is_held() -> None:
    engines = [fast(prompt_tokens=5000), fast("other", prompt_tokens=6000)]
    assert PredictedFinish().choose(STEP, engines) == 0
    held = NewStep("w", "candidate", STEP.demand, {"other": 9000.0})
    assert PredictedFinish().choose(held, engines) == 1
    far = [engines[0], replace(engines[1], prompt_tokens=60_000)]
    assert PredictedFinish().choose(held, far) == 0


def test_predicted_finish_prefers_small_steps_for_long_answers() -> None:
    """Among engines as fast, an answer of 700 tokens ends sooner where each of its steps is short."""
    busy = {"prompt_tokens": 200_000.0, "num_running": 4, "cost": replace(FAST, mixed_base_s=1e-3)}
    large, small = fast("large", token_budget=2048, **busy), fast("small", token_budget=512, **busy)
    talk = NewStep("w", "candidate", Demand(10, 700))
    assert PredictedFinish().choose(talk, [large, small]) == 1


@pytest.mark.parametrize("name", MAKERS)
def test_without_an_engine_there_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="no engine"):
        MAKERS[name]().choose(STEP, [])


states = st.builds(
    EngineState,
    name=st.sampled_from("abcdefgh"),
    cost=st.sampled_from([FAST, SLOW]),
    token_budget=st.sampled_from([1, 512, 2048]),
    num_waiting=st.integers(0, 10_000),
    num_running=st.integers(0, 1000),
    prompt_tokens=st.just(0.0) | st.floats(-1e3, 1e8),
    output_tokens=st.just(0.0) | st.floats(-1e3, 1e8),
    waiting_s=st.just(0.0) | st.floats(-1e-9, 1e6),
)
fleets = st.lists(states, min_size=1, max_size=8, unique_by=lambda state: state.name)


@given(changing=st.lists(fleets, min_size=1, max_size=10), name=st.sampled_from(list(MAKERS)))
def test_engines_may_join_and_leave_between_any_two_steps(
    changing: list[list[EngineState]], name: str
) -> None:
    dispatch = MAKERS[name]()
    for engines in changing:
        assert 0 <= dispatch.choose(STEP, engines) < len(engines)


@given(fleet=fleets, name=st.sampled_from(["balanced", "repaired", "finish"]))
def test_an_idle_copy_of_an_engine_is_never_worse_than_a_busy_one(
    fleet: list[EngineState], name: str
) -> None:
    """An engine with a queue is not taken while its like is idle."""
    idle = [EngineState(f"idle {engine.name}", engine.cost, engine.token_budget) for engine in fleet]
    busy = [replace(engine, prompt_tokens=1e5, waiting_s=100.0, num_waiting=9) for engine in fleet]
    engines = [*busy, *idle]
    assert MAKERS[name]().choose(STEP, engines) >= len(busy)


def test_the_budget_is_large_where_prompts_queue_up_and_small_where_not() -> None:
    budget = StepBudget(idle_share=0.2, busy_share=0.1, busy_s=2.0, least=64, most=2048)
    assert budget.tokens(FAST, 0) == 0.015 / 1e-4 * 4
    assert budget.tokens(FAST, 25_000) == 0.015 / 1e-4 * 9
    assert budget.tokens(CostModel(1e-6, 0.01, 1e-4, 0.01), 0) == 2048
    assert budget.tokens(CostModel(1e-2, 0.01, 1e-4, 0.01), 1e9) == 64
