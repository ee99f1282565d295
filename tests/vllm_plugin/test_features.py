"""Features of vLLM that ours must leave as they are: watermarks, Mamba states, diffusion models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin import features, host
from relserve.vllm_plugin.step_plan import StepPlan
from tests.modules import later, needs

carry_out = later("relserve.vllm_plugin.carry_out")
testing = later("lab.made_up_worker")
plugin = later("relserve.vllm_plugin.scheduler")

pytestmark = [pytest.mark.vllm, needs("vllm")]
MODEL = str(MODEL_DIR)
BLOCKS, PROMPT = 12, 96  # of 12 blocks vLLM keeps one, and a prompt takes three


def two_rows(variant: str) -> Any:
    """A row that decodes, and one that waits."""
    scheduler = testing.scheduler_of(MODEL, variant, False, BLOCKS)
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    scheduler.add_request(testing.MadeUpArrival(0, "runs", [1] * PROMPT, 20, {"rel_id": "a"}).request())
    output = scheduler.schedule()
    testing.deliver(scheduler, output, worker.execute(output), ran)
    scheduler.add_request(testing.MadeUpArrival(0, "waits", [2] * PROMPT, 20, {"rel_id": "b"}).request())
    return scheduler


def admitted_while_held_back(scheduler: Any) -> list[str]:
    plan = StepPlan([], held_back=scheduler.running)
    output = carry_out.carried_out(scheduler, plan, super(type(scheduler).__mro__[1], scheduler).schedule)
    return [new.req_id for new in output.scheduled_new_reqs]


@pytest.mark.parametrize(("watermark", "admitted"), [(0, ["waits"]), (5, ["waits"]), (6, [])])
def test_a_step_whose_decodes_are_held_back_leaves_the_watermark(watermark: int, admitted: list[str]) -> None:
    scheduler = two_rows("stock")
    scheduler.kv_cache_manager.watermark_blocks = watermark
    assert admitted_while_held_back(scheduler) == admitted
    assert "allocate_slots" not in vars(scheduler.kv_cache_manager)
    scheduler.shutdown()


def test_an_engine_in_which_nothing_runs_admits_past_the_watermark_as_vllm_does() -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, BLOCKS)
    scheduler.kv_cache_manager.watermark_blocks = BLOCKS
    scheduler.add_request(testing.MadeUpArrival(0, "first", [1] * PROMPT, 20, {"rel_id": "a"}).request())
    assert scheduler.schedule().scheduled_new_reqs
    scheduler.shutdown()


@pytest.mark.parametrize(("aligned", "tokens"), [(False, 8), (True, 256)])
def test_no_step_is_too_short_for_a_chunk_that_ends_where_a_mamba_state_is_kept(
    aligned: bool, tokens: int
) -> None:
    seen: list[int] = []
    scheduler = SimpleNamespace(
        max_num_running_reqs=8, max_num_scheduled_tokens=256, running=[], waiting=[], types=SimpleNamespace(),
        need_mamba_block_aligned_split=aligned, kv_cache_manager=SimpleNamespace(),
    )  # fmt: skip
    plan = StepPlan([], token_budget=8)
    carry_out.carried_out(scheduler, plan, lambda: seen.append(scheduler.max_num_scheduled_tokens))
    assert (seen, scheduler.max_num_scheduled_tokens) == ([tokens], 256)


def test_nor_do_steps_have_budgets_there() -> None:
    scheduler = testing.scheduler_of(MODEL, "stock", False, BLOCKS)
    assert features.what_forbids_budgets(scheduler) == []
    scheduler.need_mamba_block_aligned_split = True
    assert features.what_forbids_budgets(scheduler) == ["Mamba states that are kept at the ends of blocks"]
    scheduler.shutdown()


def test_hashes_may_be_of_smaller_blocks() -> None:
    assert host.hash_block_size(SimpleNamespace(block_size=64)) == 64
    assert host.hash_block_size(SimpleNamespace(block_size=64, hash_block_size=16)) == 16


@pytest.mark.parametrize("is_async", [False, True])
def test_a_diffusion_model_keeps_vllms_own_scheduler(is_async: bool) -> None:
    config = SimpleNamespace(
        model_config=SimpleNamespace(is_diffusion=True),
        scheduler_config=SimpleNamespace(async_scheduling=is_async),
    )
    name = "DiffusionAsyncScheduler" if is_async else "DiffusionScheduler"
    assert features.diffusion_class(config).__name__ == name
    config.model_config = SimpleNamespace()  # a release that knows no such models
    assert features.diffusion_class(config) is None


def test_it_is_made_for_a_diffusion_model(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(features, "diffusion_class", lambda config: lambda **kwargs: made.append(kwargs))
    plugin.make(vllm_config="its configuration", log_stats=True)
    assert made == [{"vllm_config": "its configuration", "log_stats": True}]
    assert "diffusion models keep vLLM's own scheduler" in caplog.text
