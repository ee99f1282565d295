"""The cases of the hidden cache, few requests each, in engines whose Triton kernels are interpreted.

test_hidden_triton.py runs this in a process of its own with TRITON_INTERPRET=1, which Triton reads once. Its
tiles are wide, for the interpreter's time is that of programs begun; `interpreted_engines.py` has the GPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from relserve_kernels.gpu import path
from relserve_kernels.gpu.tiles import Tile, Tiles

from tests.vllm_plugin.cache.hybrid_engines import (
    FORMS,
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

FEW: dict[str, Any] = {"num": 4, "max_tokens": 5}
HIDDEN, MIXED = ("hidden",), ("kv", "hidden")
WAYS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "whole prompts": {"max_num_batched_tokens": 512, "enable_chunked_prefill": False},
    "no prefix cache": {"enable_prefix_caching": False},
    "relQueries' scheduler": {"scheduler_cls": "relserve.vllm_plugin.scheduler.make"},
    "larger blocks": {"block_size": 64, "num_gpu_blocks_override": NUM_BLOCKS // 2 + 2},
}
AS_IT_IS = [("opt", "as it is"), ("llama", "as it is")]
OTHERWISE = [
    *(("opt", way) for way in WAYS if way != "as it is"),
    ("llama", "whole prompts"),
    ("llama", "larger blocks"),
]


class Engine(NamedTuple):
    """An engine by Triton's kernels, and what stock vLLM says, by the form of the answers."""

    llm: Any
    expected: dict[str, list[tuple[int, ...]]]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """stock(name): a made-up model's folder, and what stock vLLM says with it; asked once a model."""
    known: dict[str, tuple[Path, dict[str, list[tuple[int, ...]]]]] = {}

    def answers(name: str) -> tuple[Path, dict[str, list[tuple[int, ...]]]]:
        if name not in known:
            model = build_model(name, tmp_path_factory.mktemp("models"))
            llm = start(model, None)
            known[name] = model, {form: said(llm, work(**FEW, forms=(form,))) for form in ("", *FORMS)}
            llm.llm_engine.engine_core.shutdown()
        return known[name]

    return answers


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, stock: Any) -> Iterator[Engine]:
    name, way = request.param
    with environment(), pytest.MonkeyPatch.context() as patched:
        wide = Tile(128, 128, 4, 3)
        patched.setattr(path, "tiles_of", lambda heads, dtype: Tiles(16, wide, wide))
        model, expected = stock(name)
        llm = start(model, "hybrid", relserve={"kernels": "triton"}, **WAYS[way])
        yield Engine(llm, expected)
        llm.llm_engine.engine_core.shutdown()


def check(engine: Engine, kinds: tuple[str, ...], form: str = "") -> None:
    """The tokens are stock's, and no block is lost."""
    assert said(engine.llm, work(kinds, **FEW, forms=(form,))) == engine.expected[form]
    check_idle(engine.llm)


as_it_is = pytest.mark.parametrize("engine", AS_IT_IS, indirect=True, ids="-".join)


@as_it_is
@pytest.mark.parametrize("kinds", [HIDDEN, MIXED], ids="-".join)
def test_tokens_are_stocks(engine: Engine, kinds: tuple[str, ...]) -> None:
    engine.llm.reset_prefix_cache()
    assert len(set(engine.expected[""])) == FEW["num"]
    check(engine, kinds)


@as_it_is
def test_they_are_with_prefixes_found(engine: Engine) -> None:
    engine.llm.reset_prefix_cache()
    check(engine, HIDDEN)
    outputs = engine.llm.generate(*work(HIDDEN, **FEW, forms=("",)), use_tqdm=False)
    assert [tuple(each.outputs[0].token_ids) for each in outputs] == engine.expected[""]
    assert outputs[0].num_cached_tokens > 0


@as_it_is
def test_they_are_where_kinds_change(engine: Engine) -> None:
    engine.llm.reset_prefix_cache()
    with watched(engine.llm, every(2)) as seen:
        check(engine, MIXED)
    assert len(seen.switches) > 2 * FEW["num"]


@as_it_is
@pytest.mark.parametrize("form", FORMS)
def test_they_are_in_a_form(engine: Engine, form: str) -> None:
    assert engine.expected[form] != engine.expected[""]
    check(engine, HIDDEN, form)


@as_it_is
def test_they_are_where_one_is_aborted(engine: Engine) -> None:
    engine.llm.reset_prefix_cache()
    core, requests = engine.llm.llm_engine, work(HIDDEN, **FEW, forms=("",))
    for i, (prompt, params) in enumerate(zip(*requests, strict=True)):
        core.add_request(str(i), prompt, params)
    given: dict[str, tuple[int, ...]] = {}
    for step in range(200):
        for output in core.step():
            if output.finished:
                given[output.request_id] = tuple(output.outputs[0].token_ids)
        if step == 1:
            core.abort_request(["0"])
        if not core.has_unfinished_requests():
            break
    assert {name: given[name] for name in "123"} == dict(zip("123", engine.expected[""][1:], strict=True))
    check_idle(engine.llm)


@pytest.mark.parametrize("engine", OTHERWISE, indirect=True, ids="-".join)
@pytest.mark.parametrize("kinds", [HIDDEN, MIXED], ids="-".join)
def test_tokens_are_stocks_in_other_ways(engine: Engine, kinds: tuple[str, ...]) -> None:
    with watched(engine.llm, every(2) if kinds == MIXED else lambda request: False) as seen:
        check(engine, kinds)
    assert (len(seen.switches) > FEW["num"]) == (kinds == MIXED)
