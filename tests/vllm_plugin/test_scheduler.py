"""relserve's scheduler inside a real vLLM: same steps and tokens as stock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from relserve.tiny import MODEL_DIR

pytestmark = pytest.mark.vllm

OURS = "relserve.vllm_plugin.scheduler.make"
DISHES = ("soup", "steak", "salad", "pie")
# Long and short prompts, four relQueries whose rows arrive interleaved.
PROMPTS = [
    f"<|user|>\nWas it good? {f'The {DISHES[i % 4]} was warm and we stayed late. ' * (1 + i % 7)}{i}"
    for i in range(48)
]
MAX_TOKENS = 24


class Ran(NamedTuple):
    """What one engine did."""

    steps: list[dict[str, int]]
    outputs: list[Any]
    ledger: Any


def run(monkeypatch: pytest.MonkeyPatch, scheduler_cls: str | None, tagged: bool = True) -> Ran:
    """Answer PROMPTS in this process, with so few blocks and tokens that rows are cut and preempted."""
    variables = {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    extra: dict[str, Any] = {"scheduler_cls": scheduler_cls} if scheduler_cls else {}
    if scheduler_cls:
        extra["additional_config"] = {"relserve": {"variant": "stock"}}
    llm = vllm.LLM(
        str(MODEL_DIR), dtype="float32", enforce_eager=True, block_size=32, max_model_len=512, max_num_seqs=8,
        max_num_batched_tokens=48, num_gpu_blocks_override=18, disable_log_stats=False, **extra,
    )  # fmt: skip
    scheduler = llm.llm_engine.engine_core.engine_core.scheduler
    steps = record_steps(scheduler)
    params = [
        vllm.SamplingParams(
            max_tokens=MAX_TOKENS, temperature=0, ignore_eos=True,
            extra_args={"rel_id": f"rel{i % 4}", "rel_rows": len(PROMPTS) // 4} if tagged else None,
        )
        for i in range(len(PROMPTS))
    ]  # fmt: skip
    outputs = llm.generate(PROMPTS, params, use_tqdm=False)
    ledger = getattr(scheduler, "ledger", None)
    llm.llm_engine.engine_core.shutdown()
    return Ran(steps, outputs, ledger)


def record_steps(scheduler: Any) -> list[dict[str, int]]:
    """The tokens of each request (by its number) in every step to come."""
    steps: list[dict[str, int]] = []
    schedule = scheduler.schedule

    def recorded(*args: Any, **kwargs: Any) -> Any:
        output = schedule(*args, **kwargs)
        steps.append({rid.split("-")[0]: n for rid, n in output.num_scheduled_tokens.items()})
        return output

    scheduler.schedule = recorded
    return steps


@pytest.mark.engine_of_its_own
def test_steps_and_tokens_are_those_of_stock_vllm(monkeypatch):
    ours, stock = run(monkeypatch, OURS), run(monkeypatch, None, tagged=False)
    assert [o.outputs[0].token_ids for o in ours.outputs] == [o.outputs[0].token_ids for o in stock.outputs]
    assert ours.steps == stock.steps
    assert sum(o.metrics.num_preemptions for o in ours.outputs) > 0
    chunked = [n for step in ours.steps for n in step.values() if 1 < n]
    assert len(chunked) > len(PROMPTS), "no prompt was cut in pieces"
    assert not ours.ledger.active
    assert len(ours.ledger) == 0


@pytest.mark.parametrize(
    ("is_async", "name"), [(False, "RelQueryScheduler"), (True, "AsyncRelQueryScheduler")]
)
def test_make_follows_vllms_choice_of_scheduler(is_async, name, monkeypatch):
    scheduler = pytest.importorskip("relserve.vllm_plugin.scheduler", reason="vLLM is not installed")
    made: list[str] = []
    for cls in ("RelQueryScheduler", "AsyncRelQueryScheduler"):
        monkeypatch.setattr(scheduler, cls, lambda vllm_config, cls=cls, **kwargs: made.append(cls))
    planning = SimpleNamespace(async_scheduling=is_async)
    model = SimpleNamespace(is_diffusion=False)
    scheduler.make(SimpleNamespace(scheduler_config=planning, model_config=model, additional_config={}))
    assert made == [name]
