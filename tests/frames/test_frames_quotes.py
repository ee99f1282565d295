"""Quotes of a frame's rows: each stands in its own row's values, also where two rows have one prompt."""

from __future__ import annotations

import pyarrow as pa

import relserve
from relserve.engines.scripted import ScriptedEngine

ROWS = pa.table({"a": ["a, b", "a", None], "b": ["c", "b, c", "c"]})


def test_a_frame_s_quotes_and_their_offsets() -> None:
    engine = ScriptedEngine(script=lambda prompt, submission: "b, c")
    kept = relserve.llm_quote(ROWS, "{a}, {b}", engine=engine)
    assert kept.to_pylist() == [None, "b, c", None]
    assert engine.num_prompts == 2
    placed = relserve.llm_quote(ROWS, "{a}, {b}", engine=engine, offsets=True)
    assert placed.to_pylist() == [None, {"text": "b, c", "start": 1, "stop": 4}, None]
    found = relserve.llm_extract(
        ROWS["b"], "{}", schema='["VARCHAR"]', verbatim=True, engine=ScriptedEngine()
    )
    for parts, text in zip(found.to_pylist(), ["c", "b, c", "c"], strict=True):
        assert all(part in text for part in parts)
