"""A local engine of two data parallel copies: each has a scheduler, which is told that there are two."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import ask, texts

from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.engine_of_its_own, pytest.mark.vllm]
PROMPTS = [f"Say something about number {i}." for i in range(40)]


def test_two_copies_answer_as_one_does(model_path: Path, tmp_path: Path, plain_engine: LocalEngine) -> None:
    log = tmp_path / "engine.log"
    arguments = {"data_parallel_size": 2, "dtype": "float32"}
    engine = LocalEngine("tiny", str(model_path), engine_args=arguments, log_path=log)
    answers = texts(ask(engine, PROMPTS, temperature=0.0))
    spawn(engine.close()).result(timeout=PATIENCE_S)
    assert answers == texts(ask(plain_engine, PROMPTS, temperature=0.0))
    said = log.read_text(encoding="utf-8")
    assert "Traceback" not in said
    assert "data parallel ranks" not in said
