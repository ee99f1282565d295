"""A real model under every variant: stock vLLM's tokens, structured outputs too, and no leaked blocks."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.zoo import NAMES as ZOO
from benchmarks.zoo import build
from relserve.policies.scheduling.variants import NAMES
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import SchedulerSettings

pytestmark = pytest.mark.vllm

VARIABLES = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}  # fmt: skip
TEXTS = (
    "A warm soup, and kind people. ",
    "The parcel came late and broken. ",
    "It is a dark and bitter beer. ",
)
NUM_RELS, NUM_ROWS = 5, 8
# So few KV blocks that rows are preempted. Layers with windows take blocks of their own.
NUM_BLOCKS = {"gemma3": 96}
IN_EVERY_RUN = ("tiny, chunked", "tiny, whole prompts", "gemma3, chunked")
ENGINES = [f"{model}, {way}" for model in ("tiny", *ZOO) for way in ("chunked", "whole prompts")]


def requests() -> tuple[list[str], list[Any]]:
    """Relations of eight rows: choices, a number, a pattern, and twice free text of several lengths."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    forms = [
        StructuredOutputsParams(choice=["good", "bad", "neither good nor bad"]),
        StructuredOutputsParams(choice=[str(i) for i in range(1, 11)]),
        StructuredOutputsParams(regex=r"[a-z]{2,9}( [a-z]{2,9})?"),
        None,
        None,
    ]
    prompts, params = [], []
    for i in range(NUM_RELS * NUM_ROWS):
        rel = i % NUM_RELS
        text = TEXTS[i % 3] * (1 + i % 7)
        prompts.append(f"Tell me of relation {rel}: {text}{i}")
        params.append(
            SamplingParams(
                max_tokens=24, temperature=0, ignore_eos=forms[rel] is None, structured_outputs=forms[rel],
                extra_args={"rel_id": f"rel{rel}", "rel_rows": NUM_ROWS, "rel_ol": 24},
            )
        )  # fmt: skip
    return prompts, params


@pytest.fixture(
    params=[pytest.param(e, marks=[] if e in IN_EVERY_RUN else [pytest.mark.long]) for e in ENGINES]
)
def engine(request, monkeypatch):
    model, way = request.param.split(", ")
    folder, is_chunked = MODEL_DIR if model == "tiny" else build(model), way == "chunked"
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    llm = vllm.LLM(
        str(folder), dtype="float32", enforce_eager=True, block_size=32, max_model_len=256, max_num_seqs=8,
        max_num_batched_tokens=64 if is_chunked else 256,
        enable_chunked_prefill=is_chunked, enable_prefix_caching=True,
        num_gpu_blocks_override=NUM_BLOCKS.get(model, 24),
        scheduler_cls="relserve.vllm_plugin.scheduler.make",
    )  # fmt: skip
    yield llm
    llm.llm_engine.engine_core.shutdown()


def test_every_variant_says_the_same_and_leaks_nothing(engine) -> None:
    from vllm.v1.core.sched.request_queue import FCFSRequestQueue

    from relserve.vllm_plugin.steering import Steering

    scheduler = engine.llm_engine.engine_core.engine_core.scheduler
    pool = scheduler.kv_cache_manager.block_pool
    prompts, params = requests()
    said = {}
    for variant in ("stock", *NAMES):
        # An idle scheduler can change its policy: one engine does for all.
        scheduler.waiting = FCFSRequestQueue()
        scheduler.steering = None
        if variant != "stock":
            scheduler.steering = Steering(scheduler, scheduler.ledger, SchedulerSettings(variant))
        engine.reset_prefix_cache()
        outputs = engine.generate(prompts, params, use_tqdm=False)
        said[variant] = [tuple(o.outputs[0].token_ids) for o in outputs]
        texts = [o.outputs[0].text for o in outputs]
        assert set(texts[0::NUM_RELS]) <= {"good", "bad", "neither good nor bad"}
        assert all(1 <= int(text) <= 10 for text in texts[1::NUM_RELS])
        assert pool.get_num_free_blocks() == pool.num_gpu_blocks - 1, f"{variant} leaked blocks"
        assert not scheduler.requests
    assert [v for v in said if said[v] != said["stock"]] == []
