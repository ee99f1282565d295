"""Engines whose hidden cache goes through Triton's kernels, interpreted: against stock vLLM and the CPU's.

test_hidden_triton.py runs this in a process of its own with TRITON_INTERPRET=1, which Triton reads once.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from relserve_kernels.gpu import path
from relserve_kernels.gpu.tiles import Tile

from lab.kernels import once
from tests.vllm_plugin.cache.hybrid_engines import build_model, check_idle, environment, said, start, work

FEW: dict[str, Any] = {"num": 4, "max_tokens": 5}
# Whose kernels answer what: those of OPT absorb keys and values, those of Llama gather X to make keys again.
WHOLE = Tile(128, 128, 4, 1)  # all columns of X in the small model
RUN = {"opt": {"store_x", "mix_x"}, "llama": {"store_x", "gathered"}}


def answers(model: Path, cache: str | None, **ours: Any) -> list[tuple[int, ...]]:
    """What an engine says to a few requests that hold X."""
    llm = start(model, cache, relserve=ours)
    try:
        return said(llm, work(("hidden",) if cache else (), **FEW))
    finally:
        if cache:
            check_idle(llm)
        llm.llm_engine.engine_core.shutdown()


@pytest.mark.parametrize("name", RUN)
def test_tokens_are_stocks_and_the_cpu_kernels(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: Counter[str] = Counter()

    def counting(function: str, kernels: Any) -> Any:
        def run(*args: Any) -> Any:
            ran[function] += 1
            return kernels(*args)

        return run

    for function in ("store_x", "mix_x", "gathered"):
        monkeypatch.setattr(path, function, counting(function, getattr(path, function)))
    with environment():
        model = build_model(name, tmp_path)
        stock = answers(model, None)
        assert len(set(stock)) == FEW["num"]
        assert answers(model, "hidden", kernels="cpu") == stock
        assert not ran
        assert answers(model, "hidden", kernels="triton") == stock
    assert set(ran) == RUN[name]


def test_what_is_said_depends_on_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with the kernels' sums of X changed, tokens are others, so these tests can fail."""
    mix = path.mix_x
    monkeypatch.setattr(path, "mix_x", lambda *args: 1.5 * mix(*args))
    with environment():
        model = build_model("opt", tmp_path)
        assert answers(model, "hidden", kernels="triton") != answers(model, None)


def test_tokens_are_stocks_with_x_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part: the interpreter's programs do not run at the same time."""
    called: Counter[str] = Counter()

    def mix_x(asked: Any, *arguments: Any) -> Any:
        called["mix_x"] += 1
        assert asked.shape[2] <= WHOLE.wide
        return once.mix_x(asked, *arguments, tile=WHOLE)

    monkeypatch.setattr(path, "mix_x", mix_x)
    with environment():
        model = build_model("opt", tmp_path)
        assert answers(model, "hidden", kernels="triton") == answers(model, None)
    assert called
