"""Where the steps of workflows go: HexGen-Text2SQL's score, and by predicted finish."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.dispatch.finish import PredictedFinish
from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced, prompts_s, waiting_s
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.state import EngineLoad, Request
from relserve.policies.dispatch.variants import make
from relserve.policies.model.linear import CostModel
from tests.policies.dispatch.fleets import ASKED, fleet, idle, known

FAST, SLOW = CostModel(1e-4, 0.01, 1e-4, 0.015), CostModel(3e-4, 0.02, 3e-4, 0.04)
STEP = Request(10_000, 700)

Engine = tuple[CostModel, EngineLoad]


def fast(**changes: Any) -> Engine:
    return FAST, replace(EngineLoad(512), **changes)


def slow(**changes: Any) -> Engine:
    return SLOW, replace(EngineLoad(512), **changes)


def chosen(policy: DispatchPolicy, *engines: Engine, request: Request = STEP) -> int:
    return policy.choose(request, known(*engines), 0.0)


def balanced(alpha: float = 0.3, **more: Any) -> WorkloadBalanced:
    return WorkloadBalanced(alpha=alpha, **more)


def test_weighted_goes_by_speed_where_weights_are_speeds() -> None:
    policy, members = make("weighted"), known(fast(), slow())
    order = [policy.choose(STEP, members, 0.0) for _ in range(8)]
    assert Counter(order) == {0: 6, 1: 2}
    assert 1 in order[:4]


def test_the_least_loaded_counts_those_that_run() -> None:
    assert chosen(make("least_loaded"), fast(num_running=3), slow(num_waiting=1, num_running=1)) == 1


def test_as_published_alpha_weighs_the_queue_against_the_speed() -> None:
    """Eq. 4: 700 / 100 - 0.3 * 22.9 against 700 / 40 - 0.3 * 37.7, by hand."""
    engines = fast(waiting_s=100.0), slow(waiting_s=40.0)
    assert chosen(balanced(beta=1000.0), *engines) == 1
    assert chosen(balanced(beta=100.0), *engines) == 0
    assert chosen(balanced(alpha=0.0), *engines) == 1
    assert chosen(balanced(alpha=1.0), *engines) == 0


def test_as_published_an_engine_without_a_queue_is_the_best() -> None:
    """Where the first term has no value."""
    assert chosen(balanced(alpha=0.9), fast(waiting_s=0.1), slow()) == 1
    assert chosen(balanced(), slow(), fast()) == 1
    assert chosen(balanced(), fast(num_running=2), fast()) == 1
    assert chosen(balanced(alpha=0.0), fast(num_running=2), slow()) == 1


def test_as_published_what_runs_does_not_count_repaired_it_does() -> None:
    engines = fast(num_running=9, prompt_tokens=1e6), slow()
    assert chosen(balanced(), *engines) == 0
    assert chosen(balanced(queue_s=prompts_s), *engines) == 1


def test_a_queue_that_nobody_keeps_is_made_of_what_was_reported_and_sent() -> None:
    members = fleet(FAST, SLOW)
    report = idle(FAST, sequence=1, num_waiting=5, waiting_tokens=90_000, output_tokens=500)
    members.report("m0", report, 0.0)
    members.sent(1, ASKED, 0.0)
    row_s = [0.015 + 32e-4, 0.04 + 96e-4]
    assert waiting_s(members).tolist() == pytest.approx([9.0 + 500 * row_s[0], 0.3 + 200 * row_s[1]])
    assert make("hexgen").choose(ASKED, members, 0.0) == 1


def test_predicted_finish_counts_what_runs_and_what_waits() -> None:
    assert chosen(PredictedFinish(), fast(), slow()) == 0
    assert chosen(PredictedFinish(), fast(num_running=9, prompt_tokens=1e6), slow()) == 1


def test_predicted_finish_goes_where_the_prompt_is_held() -> None:
    engines = fast(prompt_tokens=5000), fast(prompt_tokens=6000)
    assert chosen(PredictedFinish(), *engines) == 0
    held = replace(STEP, cached_tokens={"b": 9000.0})
    assert chosen(PredictedFinish(), *engines, request=held) == 1
    assert chosen(PredictedFinish(), engines[0], fast(prompt_tokens=60_000), request=held) == 0


def test_predicted_finish_prefers_small_steps_for_long_answers() -> None:
    """Among engines as fast, an answer of 700 tokens ends sooner where each of its steps is short."""
    cost = replace(FAST, mixed_base_s=1e-3)
    large, small = (cost, EngineLoad(2048, 0, 4, 2e5)), (cost, EngineLoad(512, 0, 4, 2e5))
    assert chosen(PredictedFinish(), large, small, request=Request(10, 700)) == 1


loads = st.builds(
    EngineLoad,
    budget_tokens=st.sampled_from([1, 512, 2048]),
    num_waiting=st.integers(0, 10_000),
    num_running=st.integers(0, 1000),
    prompt_tokens=st.just(0.0) | st.floats(-1e3, 1e8),
    output_tokens=st.just(0.0) | st.floats(-1e3, 1e8),
    waiting_s=st.just(0.0) | st.floats(-1e-9, 1e6),
)
engines_of_any_load = st.lists(st.tuples(st.sampled_from([FAST, SLOW]), loads), min_size=1, max_size=8)


@given(engines=engines_of_any_load, name=st.sampled_from(["hexgen", "repaired", "finish"]))
def test_an_idle_copy_of_an_engine_is_never_worse_than_a_busy_one(engines: list[Engine], name: str) -> None:
    """An engine with a queue is not taken while its like is idle."""
    still = [(cost, EngineLoad(load.budget_tokens)) for cost, load in engines]
    much = {"prompt_tokens": 1e5, "waiting_s": 100.0, "num_waiting": 9}
    busy = [(cost, replace(load, **much)) for cost, load in engines]
    policy = balanced(queue_s=prompts_s) if name == "repaired" else make(name)
    assert chosen(policy, *busy, *still) >= len(busy)


@given(engines=engines_of_any_load, alpha=st.floats(0, 1), prompt=st.floats(1, 1e5), output=st.floats(1, 1e4))
def test_the_score_is_eq_4_taken_member_by_member(
    engines: list[Engine], alpha: float, prompt: float, output: float
) -> None:
    """Against the equation over plain numbers, ties included: the first of the best."""

    def score(cost: CostModel, load: EngineLoad) -> tuple[int, float, float]:
        alone_s = alpha * (prompt * cost.prefill_per_token_s + output * cost.decode(32.0))
        if load.waiting_s > 0:
            return 0, (1.0 - alpha) * 1000.0 / max(load.waiting_s, 1e-290) - alone_s, 0.0
        return 1, -alone_s, -load.num_running - load.num_waiting

    scores = [score(*engine) for engine in engines]
    policy = WorkloadBalanced(alpha=alpha)
    assert policy.choose(Request(prompt, output), known(*engines), 0.0) == scores.index(max(scores))


def test_members_are_told_of_queues_by_who_keeps_them() -> None:
    members: MemberTable = known(fast(num_waiting=2, num_running=1, prompt_tokens=700.0, waiting_s=3.0))
    assert (members.num_waiting()[0], members["num_running"][0], members["waiting_s"][0]) == (2, 1, 3.0)
    assert members.ages_s(4.0)[0] == 4.0
    assert members.remaining_tokens(0.0)[0] == 700.0
    again = members.emptied()
    assert (again.num_waiting()[0], again.prompt_tokens()[0]) == (0, 0)
    assert again.costs() == [FAST]
