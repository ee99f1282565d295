"""A real model whose rows are hidden, or what a policy says: stock vLLM's tokens, and no block is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from relserve.tiny import MODEL_DIR

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

NUM_BLOCKS = 18  # so few that rows wait and are preempted
DISHES = ("soup", "steak", "salad", "pie")
PROMPTS = [
    f"<|user|>\n{i}: was it good? {f'The {DISHES[i % 4]} was warm and we stayed late. ' * (1 + i % 7)}"
    for i in range(36)
]
MAX_TOKENS = 24
VARIABLES = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}  # fmt: skip


class Ran(NamedTuple):
    """What an engine gave.

    Attributes:
        most: most rows that ran at once.
        hidden: rows that were hidden when they ran.
    """

    tokens: list[list[int]]
    most: int
    hidden: set[str]
    leaked: int
    scheduler: Any


def run(settings: dict[str, Any] | None, is_async: bool = True, wants: Sequence[str] = ()) -> Ran:
    """Answer PROMPTS, as relQueries of 12 rows; they want these types of cache in turn."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
        from relserve.vllm_plugin import register

        register()
        ours: dict[str, Any] = {}
        if settings is not None:
            ours["scheduler_cls"] = "relserve.vllm_plugin.scheduler.make"
            ours["additional_config"] = {"relserve": settings}
        llm = vllm.LLM(
            str(MODEL_DIR), dtype="float32", enforce_eager=True, block_size=32, max_model_len=512,
            max_num_seqs=24, max_num_batched_tokens=64, num_gpu_blocks_override=NUM_BLOCKS,
            async_scheduling=is_async, **ours,
        )  # fmt: skip
    scheduler = llm.llm_engine.engine_core.engine_core.scheduler
    watched = watch(scheduler)
    params = [
        vllm.SamplingParams(
            max_tokens=MAX_TOKENS, temperature=0, ignore_eos=True,
            extra_args={"rel_id": f"rel{i % 3}", "rel_rows": 12} if settings else None,
        )
        for i in range(len(PROMPTS))
    ]  # fmt: skip
    for i, each in enumerate(params if wants else ()):
        each.extra_args["rel_cache"] = wants[i % len(wants)]
    outputs = llm.generate(PROMPTS, params, use_tqdm=False)
    pool = scheduler.kv_cache_manager.block_pool
    llm.llm_engine.engine_core.shutdown()
    return Ran(
        [list(output.outputs[0].token_ids) for output in outputs], max(watched.num_running), watched.hidden,
        pool.num_gpu_blocks - 1 - pool.get_num_free_blocks(), scheduler,
    )  # fmt: skip


class Watched(NamedTuple):
    """What was seen of the steps."""

    num_running: list[int]
    hidden: set[str]


def watch(scheduler: Any) -> Watched:
    """See how many rows run in each step to come, and which of them are hidden."""
    seen, schedule = Watched([0], set()), scheduler.schedule

    def watched(*args: Any, **kwargs: Any) -> Any:
        output = schedule(*args, **kwargs)
        seen.num_running.append(len(scheduler.running))
        if kinds := getattr(scheduler, "kinds", None):
            running = [request.request_id for request in scheduler.running]
            seen.hidden.update(request_id for request_id in running if kinds.is_hidden(request_id))
        return output

    scheduler.schedule = watched
    return seen


@pytest.fixture(scope="module")
def stock() -> Ran:
    return run(None)


def test_all_rows_hidden_under_relserves_order(stock: Ran) -> None:
    ran = run({"cache": "hidden"})
    assert ran.tokens == stock.tokens
    assert ran.leaked == 0
    assert len(ran.hidden) == len(PROMPTS)
    assert ran.most > 1.2 * stock.most
    assert ran.scheduler.steering.planner.limits.kv_tokens == 2 * NUM_BLOCKS * 32


def test_a_policy_gives_each_row_its_type(stock: Ran) -> None:
    ran = run({"cache": "hybrid", "caching": "apt-s", "tpot_slo_s": 0.1})
    assert ran.tokens == stock.tokens
    assert ran.leaked == 0
    assert ran.hidden
    assert ran.scheduler.steering.report()["reasons"].keys() == {"R, then W"}


@pytest.mark.parametrize("caching", ["", "apt"])
def test_a_requests_own_word_goes_before_a_policys(stock: Ran, caching: str) -> None:
    ran = run({"cache": "hybrid", "caching": caching}, is_async=False, wants=("kv", "hidden", "nonsense"))
    assert ran.tokens == stock.tokens
    assert ran.leaked == 0
    numbers = {int(request_id.split("-")[0]) for request_id in ran.hidden}
    assert {n for n in range(len(PROMPTS)) if n % 3 == 1} <= numbers
    assert not numbers & {n for n in range(len(PROMPTS)) if n % 3 == 0}
