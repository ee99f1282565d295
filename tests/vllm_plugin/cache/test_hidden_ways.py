"""The hidden cache in every way that vLLM can be run: token for token what stock vLLM says in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relserve.vllm_plugin.cache import what_forbids
from tests.vllm_plugin.cache.hybrid_engines import (
    NUM_BLOCKS,
    build_model,
    check_idle,
    environment,
    every,
    said,
    start,
    watched,
    work,
)
from tests.vllm_plugin.cache.switching_scheduler import REPORT_VARIABLE

pytestmark = [pytest.mark.engine_of_its_own, pytest.mark.vllm, pytest.mark.long]

MIXED = ("kv", "hidden")
WHOLE = {"max_num_batched_tokens": 512, "enable_chunked_prefill": False}
IN_THIS_PROCESS = {
    "whole prompts": WHOLE,
    "no prefix cache": {"enable_prefix_caching": False},
    "compiled": {"enforce_eager": False},
    "keys and values made again": {"relserve": {"absorbs": False}},
    "relQueries' scheduler": {"scheduler_cls": "relserve.vllm_plugin.scheduler.make"},
    "larger blocks": {"block_size": 64, "num_gpu_blocks_override": NUM_BLOCKS // 2 + 2},
}


class Model:
    """A model's folder, and what stock vLLM says with it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.path = build_model(name, folder)
        self.logprobs = logprobs(self.path, None, "float32")
        self.expected = [tuple(token for token, _ in each) for each in self.logprobs]


def logprobs(path: Path, cache: str | None, dtype: str) -> list[list[tuple[int, float]]]:
    """Each answer's tokens and their logarithmic probabilities; where there is a cache, all are hidden."""
    llm = start(path, cache, dtype=dtype)
    prompts, params = work(("hidden",) if cache else ())
    for each in params:
        each.logprobs = 1
    with uncompiled_ranks():
        outputs = llm.generate(prompts, params, use_tqdm=False)
    llm.llm_engine.engine_core.shutdown()
    answers = [each.outputs[0] for each in outputs]
    return [
        [(token, of_step[token].logprob) for token, of_step in zip(a.token_ids, a.logprobs, strict=True)]
        for a in answers
    ]


@contextmanager
def uncompiled_ranks() -> Iterator[None]:
    """As relserve's worker has it: vLLM's own compiles the count of likelier tokens for 10 s."""
    from relserve.vllm_plugin.cpu_worker import rank_tokens_uncompiled
    from relserve.vllm_plugin.host import sampler

    with pytest.MonkeyPatch.context() as patched:
        name = "batched_count_greater_than"
        patched.setattr(sampler, name, getattr(sampler, name))  # put back afterwards
        rank_tokens_uncompiled()
        yield


@pytest.fixture(scope="module", params=["opt"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with environment():
        yield Model(request.param, tmp_path_factory.mktemp("models"))


# What is compiled depends on the model, and one that turns keys has more of it; who has which block when does
# not.
WAYS = [*(("opt", way) for way in IN_THIS_PROCESS if way != "compiled"), ("llama", "compiled")]


@pytest.mark.parametrize(("model", "way"), WAYS, indirect=["model"], scope="module")
def test_tokens_are_stocks(model: Model, way: str) -> None:
    with environment():
        llm = start(model.path, "hybrid", **IN_THIS_PROCESS[way])
        try:
            assert said(llm, work(("hidden",))) == model.expected
            check_idle(llm)
            with watched(llm, every(5)) as seen:
                assert said(llm, work(MIXED)) == model.expected
            check_idle(llm)
            assert len(seen.switches) > 50
        finally:
            llm.llm_engine.engine_core.shutdown()


def test_kinds_change_without_end_in_a_process_of_its_own(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "switches"
    monkeypatch.setattr(what_forbids, "OWN_SCHEDULERS", ("relserve.vllm_plugin.", "tests."))
    monkeypatch.setenv(REPORT_VARIABLE, str(report))
    with environment(own_process=True):
        llm = start(model.path, "hybrid", scheduler_cls="tests.vllm_plugin.cache.switching_scheduler.make")
        try:
            assert [said(llm, work(MIXED)) for _ in range(2)] == [model.expected] * 2
        finally:
            llm.llm_engine.engine_core.shutdown()
    lines = report.read_text().splitlines()
    assert sum(line.startswith("switch") for line in lines) > 100
    assert {line for line in lines if line.startswith("idle")} == {"idle 0 0"}


@pytest.mark.parametrize("model", ["opt", "llama"], indirect=True, scope="module")
def test_in_bf16_it_is_as_near_to_float32_as_stock(model: Model) -> None:
    with environment():
        stock, hidden = (logprobs(model.path, cache, "bfloat16") for cache in (None, "hybrid"))
    errors: dict[str, list[float]] = {"stock": [], "hidden": []}
    for of_exact, of_stock, of_hidden in zip(model.logprobs, stock, hidden, strict=True):
        for a, b, c in zip(of_exact, of_stock, of_hidden, strict=False):
            if not a[0] == b[0] == c[0]:
                break  # from here on they are about different texts
            errors["stock"].append(abs(b[1] - a[1]))
            errors["hidden"].append(abs(c[1] - a[1]))
    means = {name: sum(each) / len(each) for name, each in errors.items()}
    assert len(errors["hidden"]) > 100
    assert 0 < means["hidden"] < 2 * means["stock"] < 0.2
