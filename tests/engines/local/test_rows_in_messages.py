"""Rows go to a local engine in messages of many; the few engines that take none get them one by one."""

from __future__ import annotations

import pytest
from asking import ask, texts

from relserve.call.answer_types import Grammar
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.flight import CHUNK, FIRST_CHUNK, _chunks
from relserve.errors import FailureKind

PROMPTS = [f"Was guest {i} happy with the {dish}?" for i in range(20) for dish in ("soup", "steak", "pie")]


@pytest.mark.vllm
def test_rows_one_by_one_are_answered_as_rows_in_messages(
    local_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = texts(ask(local_engine, PROMPTS, max_tokens=8))
    assert local_engine.running.takes_batches
    monkeypatch.setattr(local_engine.running, "takes_batches", False)
    assert texts(ask(local_engine, PROMPTS, max_tokens=8)) == said


@pytest.mark.vllm
def test_sampling_parameters_that_vllm_refuses_fail_their_rows_alone(local_engine: LocalEngine) -> None:
    bad = Grammar(regex="(unclosed")
    for reply in ask(local_engine, PROMPTS[:3], grammar=bad):
        assert reply.failure is not None
        assert reply.failure.kind is FailureKind.REFUSED
        assert reply.is_unsent  # so caps do not count it
    assert [reply.failure for reply in ask(local_engine, PROMPTS[:3], max_tokens=4)] == [None] * 3


def test_rows_are_submitted_in_parts_the_first_one_small() -> None:
    assert _chunks([]) == []
    assert _chunks([3, 1]) == [[3, 1]]
    parts = _chunks(range(700))
    assert [len(part) for part in parts] == [FIRST_CHUNK, CHUNK, CHUNK, 700 - FIRST_CHUNK - 2 * CHUNK]
    assert [index for part in parts for index in part] == list(range(700))
