"""Step budgets inside vLLM's scheduler, without a model: whatever the budget, every row gives its tokens."""

from __future__ import annotations

import logging
import math
import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from relserve.machine.engine_status import EngineStatus, status_json
from relserve.policies.budget.state import Budget, BudgetView
from relserve.policies.budget.static import within
from relserve.policies.model.work import Work
from relserve.policies.scheduling.variants import DEFAULT
from relserve.tiny import MODEL_DIR
from tests.clocks import read_here
from tests.modules import later
from tests.vllm_plugin.budget.random_budgets import RandomBudgets

pytestmark = pytest.mark.vllm
testing = later("lab.made_up_worker")


MODEL = str(MODEL_DIR)
LIMITS = {"rel_ttft_slo_s": 0.5, "rel_tpot_slo_s": 0.01}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


def with_limits(seed: int) -> list[testing.MadeUpArrival]:
    """A workload of which every third relQuery has limits: fair ones, hopeless ones, nonsense."""
    arrivals = testing.workload(seed)
    for arrival in arrivals:
        number = int(arrival.extra_args["rel_id"][1:])
        if number % 3 == 0:
            said: Any = (LIMITS, {"rel_tpot_slo_s": 1e-9}, {"rel_ttft_slo_s": "soon", "rel_tpot_slo_s": -1})
            arrival.extra_args |= said[number // 3 % 3]
    return arrivals


@pytest.mark.cells(2)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("num_blocks", [40, 400], ids=["tight", "roomy"])
@pytest.mark.parametrize("variant", [DEFAULT, "stock", "dpu+aba"])
def test_random_budgets_give_every_row_its_tokens(variant: str, num_blocks: int, is_async: bool) -> None:
    seed = num_blocks + is_async
    scheduler = testing.scheduler_of(MODEL, variant, is_async, num_blocks)
    scheduler.budgets.use(RandomBudgets(seed))
    arrivals = with_limits(seed)
    ran = testing.run(scheduler, arrivals, is_async)
    assert ran.tokens == {arrival.request_id: arrival.expected() for arrival in arrivals}
    assert ran.leaked_blocks == 0
    assert scheduler.budgets.num_decisions > 20
    assert not scheduler.budgets.rows


@pytest.mark.cells(1)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("variant", [DEFAULT, "stock"])
@pytest.mark.parametrize("name", ["slack", "lens", "static-40"])
def test_every_policy_gives_every_row_its_tokens(name: str, variant: str, is_async: bool) -> None:
    arrivals = with_limits(5)
    scheduler = testing.scheduler_of(MODEL, variant, is_async, 100, step_budget=name)
    ran = testing.run(scheduler, arrivals, is_async, abort_every=60)
    for arrival in arrivals:
        if arrival.request_id not in ran.aborted:
            assert ran.tokens[arrival.request_id] == arrival.expected()
    assert ran.leaked_blocks == 0
    assert not scheduler.budgets.rows
    assert scheduler.budgets.num_decisions


def scheduled(scheduler: Any, arrivals: list[testing.MadeUpArrival]) -> list[dict[str, int]]:
    """The tokens of each row in each step; those with a grammar, which nobody compiles here, are left out."""
    for arrival in arrivals:
        if arrival.has_grammar:
            continue
        scheduler.add_request(arrival.request())
    steps: list[dict[str, int]] = []
    worker = testing.MadeUpWorker()
    while scheduler.has_unfinished_requests():
        assert len(steps) < 5000, "the scheduler stalls"
        output = scheduler.schedule()
        steps.append(dict(output.num_scheduled_tokens))
        testing.deliver(scheduler, output, worker.execute(output), testing.WorkerRun())
    return steps


def plain(
    count: int, num_prompt: int, num_output: int, name: str, **args: Any
) -> list[testing.MadeUpArrival]:
    """Requests that name no relQuery."""
    rng = random.Random(name)
    return [
        testing.MadeUpArrival(
            0, f"{name}{i}", [rng.randrange(1000) for _ in range(num_prompt)], num_output, args
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("variant", [DEFAULT, "stock"])
def test_without_limits_steps_are_what_they_are_without_a_policy(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both times by a clock that stands still: the order of rows follows what steps were seen to take."""
    read_here(monkeypatch, lambda: 1000.0, "monotonic", "perf_counter")
    arrivals = testing.workload(2)
    without = scheduled(
        testing.scheduler_of(MODEL, variant, False, 200, step_budget="off", patience=0.0), arrivals
    )
    scheduler = testing.scheduler_of(MODEL, variant, False, 200, patience=0.0)
    assert scheduler.budgets.policy.name == "slack"
    assert scheduled(scheduler, arrivals) == without
    assert not scheduler.budgets.num_decisions


@pytest.mark.parametrize("variant", [DEFAULT, "stock"])
def test_a_static_budget_bounds_steps(variant: str) -> None:
    arrivals = plain(6, 100, 4, "a")
    steps = scheduled(testing.scheduler_of(MODEL, variant, False, 200, step_budget="static-30"), arrivals)
    assert max(sum(step.values()) for step in steps) == 30


@pytest.mark.parametrize("variant", [DEFAULT, "stock"])
def test_decodes_with_a_limit_are_not_held_up_by_long_prompts(variant: str) -> None:
    """A policy of four prompt tokens a step: each step gives each row that decodes its token."""

    class Four(RandomBudgets):
        def choose(self, view: BudgetView) -> Budget:
            return within(view, view.num_decodes + 4)

    scheduler = testing.scheduler_of(MODEL, variant, False, 200)
    scheduler.budgets.use(Four(0))
    steps = scheduled(scheduler, plain(3, 8, 20, "a", **LIMITS) + plain(2, 200, 2, "b"))
    last = max(i for i, step in enumerate(steps) if "a0" in step)
    for step in steps[6:last]:
        assert [step[f"a{i}"] for i in range(3)] == [1, 1, 1]
        assert sum(step.values()) <= 7


def test_a_decision_that_schedules_nothing_is_followed_by_one_without_a_budget() -> None:
    """Requests that the policy does not let in are let in by the next step."""

    class Nobody(RandomBudgets):
        def choose(self, view: BudgetView) -> Budget:
            return Budget(1, 0, math.inf, "nobody")

    scheduler = testing.scheduler_of(MODEL, "stock", False, 200)
    scheduler.budgets.use(Nobody(0))
    steps = scheduled(scheduler, plain(2, 50, 3, "a", **LIMITS))
    assert steps[0] == {}
    assert sum(sum(step.values()) for step in steps) == 2 * 50 + 2 * 2


def test_the_view_says_who_decodes_and_who_waits() -> None:
    seen: list[BudgetView] = []

    class Watching(RandomBudgets):
        token_s = None

        def choose(self, view: BudgetView) -> Budget:
            seen.append(view)
            return within(view, 60)

    scheduler = testing.scheduler_of(MODEL, "stock", False, 200)
    scheduler.budgets.use(Watching(0))
    scheduled(scheduler, plain(2, 40, 9, "a", **LIMITS) + plain(1, 100, 2, "b", rel_ttft_slo_s=3.0))
    first, second, third = seen[:3]
    assert (first.num_decodes, first.prompts.num_begun, first.prompts.uncomputed.tolist()) == (
        0,
        0,
        [40, 40, 100],
    )
    assert first.prompts.slo_s.tolist() == [0.5, 0.5, 3.0]
    assert first.prompts.tpot_slo_s.tolist() == [0.01, 0.01, math.inf]
    assert (second.num_decodes, second.prompts.uncomputed.tolist()) == (1, [20, 100])
    assert second.prompts.done.tolist() == [20, 0]
    assert second.decodes.slo_s.tolist() == [0.01]
    assert second.decodes.num_output_tokens.tolist() == [1]
    assert (third.num_decodes, third.decodes.num_output_tokens.tolist(), third.decodes.context_tokens) == (
        2,
        [2, 1],
        81,
    )
    assert third.now_s >= third.decodes.first_s[1] >= third.decodes.first_s[0] > second.now_s - 60


@pytest.mark.parametrize("variant", [DEFAULT, "stock"])
def test_who_is_late_in_any_case_lets_others_go_first(variant: str) -> None:
    """A token of a prompt takes 1 ms: of prompts of 400 those are late that have limits of 0.3 s."""

    reasons = []

    class Knowing(RandomBudgets):
        token_s = 1e-3

        def choose(self, view: BudgetView) -> Budget:
            reasons.append(scheduler.budgets.latest and scheduler.budgets.latest.reason)
            return within(view, 400, reason="tried")

    scheduler = testing.scheduler_of(MODEL, variant, False, 400)
    scheduler.budgets.use(Knowing(0))
    late, fair = {"rel_ttft_slo_s": 0.3}, {"rel_ttft_slo_s": 9.0}
    arrivals = plain(2, 400, 2, "late", **late) + plain(2, 400, 2, "fair", **fair) + plain(1, 400, 2, "free")
    steps = scheduled(scheduler, arrivals)
    first = {name: i for i, step in reversed(list(enumerate(steps))) for name in step}
    assert max(first["fair0"], first["fair1"]) < first["late0"] < first["late1"]
    assert {"tried; 2 late let others go first", "tried"} <= set(reasons)
    scheduler.budgets.use(Knowing(0))
    steps = scheduled(scheduler, plain(2, 400, 2, "late", **late))
    assert "late0" in steps[0]  # nobody else can be in time


def test_planning_ahead_counts_the_token_that_is_being_computed() -> None:
    seen: list[BudgetView] = []

    class Watching(RandomBudgets):
        token_s = None

        def choose(self, view: BudgetView) -> Budget:
            seen.append(view)
            return within(view, 30)

    scheduler = testing.scheduler_of(MODEL, "stock", True, 200)
    scheduler.budgets.use(Watching(0))
    testing.run(scheduler, plain(1, 8, 30, "a", **LIMITS) + plain(1, 200, 2, "b"), is_async=True)
    said = [view.decodes.num_output_tokens[0] for view in seen if view.num_decodes]
    assert said[:3] == [1, 2, 3]


@pytest.mark.parametrize("name", ["rel_tpot_slo_s", "rel_tbt_slo_s"])  # the latter is its earlier name
def test_a_limit_below_a_step_is_said_once(caplog: pytest.LogCaptureFixture, name: str) -> None:
    scheduler = testing.scheduler_of(MODEL, "stock", False, 200)
    scheduled(scheduler, plain(1, 8, 60, "a", **LIMITS))
    with caplog.at_level(logging.WARNING, "relserve"):
        scheduled(scheduler, plain(3, 8, 4, "b", **{name: 1e-9}))
    lines = [line for line in caplog.messages if "they will be late" in line]
    assert len(lines) == 1
    assert "a token within 1e-06 ms" in lines[0]


def test_an_engine_that_turns_ten_times_slower_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model inside the scheduler is right again after a few steps, at whatever speed."""
    scheduler, now = testing.scheduler_of(MODEL, "stock", False, 200), [0.0]
    read_here(monkeypatch, lambda: now[0], "monotonic")
    for arrival in plain(8, 20, 500, "a", **LIMITS):
        scheduler.add_request(arrival.request())
    worker, model = testing.MadeUpWorker(), scheduler.budgets.policy.model

    def steps(number: int, seconds: float) -> float:
        for _ in range(number):
            output = scheduler.schedule()
            result = worker.execute(output)
            now[0] += seconds
            testing.deliver(scheduler, output, result, testing.WorkerRun())
        scheduler.learner.flush()
        return float(model.predict(np.array([Work(0, 0, 8, 8 * 100.0)], dtype=float))[0])

    assert steps(150, 0.004) == pytest.approx(0.004, rel=0.1)
    assert steps(30, 0.04) == pytest.approx(0.04, rel=0.1)


def test_the_status_tells_of_budgets() -> None:
    scheduler = testing.scheduler_of(MODEL, "stock", False, 200, step_budget="slack")
    for arrival in plain(2, 200, 60, "a", **LIMITS):
        scheduler.add_request(arrival.request())
    worker = testing.MadeUpWorker()
    for _ in range(40):
        output = scheduler.schedule()
        testing.deliver(scheduler, output, worker.execute(output), testing.WorkerRun())
    for arrival in plain(2, 200, 60, "b"):
        scheduler.add_request(arrival.request())
    output = scheduler.schedule()
    status = scheduler.publisher.snapshot(scheduler, 0.0)
    told = msgspec.json.decode(status_json(status), type=EngineStatus).budget
    assert told is not None
    assert told == status.budget
    assert told.decision_ms is not None
    assert told.least_step_s is not None
    assert (told.policy, told.limited) == ("slack", 2)
    assert told.tokens == output.total_num_scheduled_tokens or told.reason == "nobody's limit binds"
    assert told.decision_ms > 0
    assert told.least_step_s > 0
    assert told.r2 is None or told.r2 <= 1


@pytest.mark.parametrize(("name", "is_said"), [("slack", False), ("lens", True)])
def test_engines_whose_prompts_are_computed_whole_have_their_own_budget(
    name: str, is_said: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log warns of it where a policy was asked for."""
    monkeypatch.setattr(testing.config_of(MODEL).scheduler_config, "enable_chunked_prefill", False)
    scheduler = testing.scheduler_of(MODEL, "stock", False, 200, step_budget=name)
    assert scheduler.budgets is None
    assert scheduler.publisher.snapshot(scheduler, 0.0).budget is None
    assert ("because of prompts that are computed whole" in caplog.text) == is_said
    assert max(sum(step.values()) for step in scheduled(scheduler, plain(2, 100, 3, "a", **LIMITS))) == 200
