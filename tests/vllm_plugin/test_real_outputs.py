"""A real model under every variant: stock vLLM's tokens, structured outputs too, and no leaked blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from benchmarks.zoo import build
from relserve.policies.scheduling.variants import DEFAULT, NAMES
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.engines import inspect_models_here
from relserve.vllm_plugin.settings import SchedulerSettings

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

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
NUM_RELS, NUM_ROWS = 5, 4  # two and a half times what runs at once
LENGTHS = (20, 60, 110, 5, 170)
NUM_LYING = 10
LIES = (
    {"rel_rows": 5, "rel_ol": 170, "rel_kind": "honest"}, {"rel_rows": 1, "rel_ol": 2, "rel_likely": 2},
    {"rel_rows": 10**9, "rel_ol": 10**9, "rel_kind": "lied"},
)  # fmt: skip
# So few KV blocks that rows have to wait. Layers with windows take blocks of their own.
NUM_BLOCKS = {"gemma3": 96}
PREEMPTING = "preempting"  # so few that they are preempted, too
IN_EVERY_RUN = ("tiny, chunked", "tiny, whole prompts", "gemma3, chunked")
# A scheduler sees of an architecture its groups of KV blocks alone: windows have one of their own. Experts
# are the one kind besides whose numbers depend on the company in a step.
CHUNKED = ("tiny, chunked", "gemma3, chunked", "mixtral, chunked")
WHOLE_PROMPTS = ("tiny, whole prompts", "gemma3, whole prompts")
# A variant orders rows, whatever the architecture; so the other engines see stock and ours.
ALL_VARIANTS = ("tiny, chunked", "tiny, whole prompts")


def requests() -> tuple[list[str], list[Any]]:
    """Relations of four rows: choices, a number, a pattern, and twice free text of several lengths."""
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
    params=[
        pytest.param(e, marks=[] if e in IN_EVERY_RUN else [pytest.mark.long])
        for e in (*CHUNKED, *WHOLE_PROMPTS)
    ]
)
def engine(request, monkeypatch):
    model, way = request.param.split(", ")
    folder, is_chunked = MODEL_DIR if model == "tiny" else build(model), way != "whole prompts"
    num_blocks = 12 if way == PREEMPTING else NUM_BLOCKS.get(model, 24)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    inspect_models_here()
    llm = vllm.LLM(
        str(folder), dtype="float32", enforce_eager=True, block_size=32, max_model_len=256, max_num_seqs=8,
        max_num_batched_tokens=64 if is_chunked else 256,
        enable_chunked_prefill=is_chunked, enable_prefix_caching=True,
        num_gpu_blocks_override=num_blocks,
        scheduler_cls="relserve.vllm_plugin.scheduler.make",
    )  # fmt: skip
    yield llm
    llm.llm_engine.engine_core.shutdown()


def lying_requests(said: dict[str, Any]) -> tuple[list[str], list[Any]]:
    """Free texts, some eight blocks long, whose clients say that they are short, or that there are many."""
    from vllm import SamplingParams

    prompts = [f"Tell me of relation {i % 4}: {TEXTS[i % 3] * (1 + i % 3)}{i}" for i in range(NUM_LYING)]
    params = [
        SamplingParams(
            max_tokens=LENGTHS[i % 5],
            temperature=0,
            ignore_eos=True,
            extra_args={"rel_id": f"r{i % 4}", **said},
        )
        for i in range(NUM_LYING)
    ]
    return prompts, params


def served(engine: Any, variant: str, prompts: list[str], params: list[Any]) -> tuple[list[Any], int]:
    """A variant's outputs, and how often it preempted a row."""
    from vllm.v1.core.sched.request_queue import FCFSRequestQueue

    from relserve.vllm_plugin.steering import Steering

    # An idle scheduler can change its policy: one engine does for all.
    scheduler = engine.llm_engine.engine_core.engine_core.scheduler
    scheduler.waiting, scheduler.steering = FCFSRequestQueue(), None
    if variant != "stock":
        scheduler.steering = Steering(
            scheduler, scheduler.ledger, SchedulerSettings(variant), scheduler.types
        )
    engine.reset_prefix_cache()
    preempted: list[str] = []
    with patch.object(scheduler, "schedule", counting(scheduler.schedule, preempted)):
        outputs = engine.generate(prompts, params, use_tqdm=False)
    pool = scheduler.kv_cache_manager.block_pool
    assert pool.get_num_free_blocks() == pool.num_gpu_blocks - 1, f"{variant} leaked blocks"
    assert not scheduler.requests
    return outputs, len(preempted)


def counting(schedule: Callable[..., Any], preempted: list[str]) -> Callable[..., Any]:
    """Notes the rows that each step preempts."""

    def call(*args: Any, **kwargs: Any) -> Any:
        output = schedule(*args, **kwargs)
        preempted.extend(output.preempted_req_ids or ())
        return output

    return call


def test_every_variant_says_the_same_and_leaks_nothing(engine, request: pytest.FixtureRequest) -> None:
    prompts, params = requests()
    said = {}
    variants = NAMES if request.node.callspec.params["engine"] in ALL_VARIANTS else (DEFAULT,)
    for variant in ("stock", *variants):
        outputs, _ = served(engine, variant, prompts, params)
        said[variant] = [tuple(o.outputs[0].token_ids) for o in outputs]
        texts = [o.outputs[0].text for o in outputs]
        assert set(texts[0::NUM_RELS]) <= {"good", "bad", "neither good nor bad"}
        assert all(1 <= int(text) <= 10 for text in texts[1::NUM_RELS])
    assert [v for v in said if said[v] != said["stock"]] == []


@pytest.mark.parametrize("engine", ["tiny, preempting"], indirect=True)
def test_rows_that_are_preempted_say_the_same_whatever_their_clients_said(engine) -> None:
    stock, num_preempted = served(engine, "stock", *lying_requests(LIES[0]))
    tokens = [tuple(o.outputs[0].token_ids) for o in stock]
    assert [len(each) for each in tokens] == [LENGTHS[i % 5] for i in range(NUM_LYING)]
    counts = {"stock": num_preempted}
    for variant, lie in (("dpu+aba", LIES[-1]), *((DEFAULT, lie) for lie in LIES)):
        outputs, counts[f"{variant} {lie}"] = served(engine, variant, *lying_requests(lie))
        assert [tuple(o.outputs[0].token_ids) for o in outputs] == tokens
    assert min(counts.values()) > 0, counts
