"""Caching policies inside vLLM's real scheduler, with a made-up model: same tokens, no leaks, no stalls."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.policies.caching.variants import NAMES
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import FIRST_GUESS
from tests.modules import later

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
MODEL = str(MODEL_DIR)


def served(
    caching: str, arrivals: list[testing.MadeUpArrival], is_async: bool = False, **settings: Any
) -> tuple[Any, testing.WorkerRun]:
    """The scheduler of a run under a caching policy with keys and values alone, and what it gave."""
    blocks, aborts = settings.pop("num_blocks", 60), settings.pop("abort_every", 0)
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", is_async, blocks, caching=caching, **settings)
    ran = testing.run(scheduler, arrivals, is_async, aborts)
    expected = {a.request_id: a.expected() for a in arrivals if a.request_id not in ran.aborted}
    assert {r: t for r, t in ran.tokens.items() if r in expected} == expected
    assert ran.leaked_blocks == 0
    assert not scheduler.requests
    assert len(scheduler.waiting) == 0
    return scheduler, ran


@pytest.mark.cells(2)
@pytest.mark.parametrize("caching", NAMES)
@pytest.mark.parametrize(
    ("is_async", "num_blocks", "abort_every"),  # each two values meet
    [(False, 40, 0), (False, 400, 37), (True, 40, 37), (True, 400, 0)],
    ids=["sync-tight", "sync-roomy-aborts", "async-tight-aborts", "async-roomy"],
)
def test_tokens_are_the_same_whatever_policy_plans_the_steps(
    caching: str, is_async: bool, num_blocks: int, abort_every: int
) -> None:
    slos = {"ttft_slo_s": 0.05, "tpot_slo_s": 0.01}
    scheduler, _ = served(
        caching, testing.workload(3), is_async, num_blocks=num_blocks, abort_every=abort_every, **slos
    )
    report = scheduler.steering.report()
    assert sum(report["reasons"].values()) == report["steps"]
    assert report["reasons"].get("everything", 0) < report["steps"] / 20


def test_iterations_of_the_published_policy_are_prefills_or_decodes() -> None:
    arrivals = [testing.MadeUpArrival(4 * i, f"q{i}-0", [i + 1] * 60, 12, {}) for i in range(12)]
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400, caching="apt-kv")
    kinds = record(scheduler)
    testing.run(scheduler, arrivals, False)
    assert set(kinds) <= {"prefill", "decode", "empty"}
    assert kinds.count("prefill") > 3
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400, caching="apt-s-kv")
    kinds = record(scheduler)
    testing.run(scheduler, arrivals, False)
    assert "mixed" in kinds


def record(scheduler: Any) -> list[str]:
    """What each step to come computes."""
    kinds: list[str] = []
    schedule = scheduler.schedule

    def recorded() -> Any:
        output = schedule()
        requests = scheduler.requests
        prefills = [
            requests[r].num_computed_tokens - n < requests[r].num_prompt_tokens
            for r, n in output.num_scheduled_tokens.items()
        ]
        kinds.append(
            "empty"
            if not prefills
            else "prefill"
            if all(prefills)
            else "mixed"
            if any(prefills)
            else "decode"
        )
        return output

    scheduler.schedule = recorded
    return kinds


def test_a_requests_own_slos_go_before_the_settings() -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400, caching="apt-kv", ttft_slo_s=2.0)
    asks: list[dict[str, Any]] = [
        {},
        {"rel_ttft_slo_s": 0.5, "rel_tpot_slo_s": 0.1},
        {"rel_ttft_slo_s": "soon"},
        {"rel_tbt_slo_s": 0.3},  # the earlier name
    ]
    for number, args in enumerate(asks):
        scheduler.add_request(testing.MadeUpArrival(0, f"q{number}-0", [1] * 40, 4, args).request())
    scheduler.schedule()
    table = scheduler.steering.planner.table.requests
    slos = [(table[f"q{i}-0"].ttft_slo_s, table[f"q{i}-0"].tpot_slo_s) for i in range(4)]
    assert slos == [(2.0, float("inf")), (0.5, 0.1), (2.0, float("inf")), (2.0, 0.3)]
    scheduler.shutdown()


def test_the_table_follows_the_engine() -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400, caching="fcfs")
    waits = testing.MadeUpArrival(0, "grammar-0", [1] * 40, 4, {}, has_grammar=True).request()
    from concurrent.futures import Future

    waits.structured_output_request.grammar = Future()
    for request in (waits, testing.MadeUpArrival(0, "plain-0", [2] * 40, 4, {}).request()):
        scheduler.add_request(request)
    scheduler.schedule()
    view = scheduler.steering.planner.table.view(scheduler.steering.planner.costs.model)
    assert view.requests.ids == ["plain-0"], "one whose grammar is compiled cannot be planned"
    state = view.requests["plain-0"]
    assert (state.num_computed, state.num_tokens, state.cache) == (40, 40, "kv")
    assert view.memory == (399, 32, 32)
    scheduler.finish_requests("plain-0", waits.status.FINISHED_ABORTED)
    assert not scheduler.steering.planner.table.view(scheduler.steering.planner.costs.model).requests.ids
    scheduler.finish_requests("grammar-0", waits.status.FINISHED_ABORTED)
    scheduler.shutdown()


def test_steps_teach_what_tokens_in_memory_cost() -> None:
    arrivals = [testing.MadeUpArrival(0, f"q{i}-0", [i + 1] * 60, 90, {}) for i in range(20)]
    scheduler, _ = served("fcfs", arrivals, num_blocks=400)
    learnt = scheduler.steering.planner.costs.model
    assert learnt.steps != FIRST_GUESS
    assert learnt.kv_token_s >= 0
    assert learnt.hidden_token_s == 0, "nothing was hidden"
