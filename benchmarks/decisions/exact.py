"""`read := 'exact'` beside brute force: every spelling of every choice, with transformers in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.common import table
from benchmarks.decisions.rows import QUESTIONS, PartFindings, connection_to, engine_of, texts_of
from relserve.tiny import MODEL_DIR

ENGINE_ARGS = {"max_model_len": 2048, "dtype": "float32"}
CHARS = 200  # of a row


def measure(quick: bool) -> PartFindings:
    """The largest difference of a probability; and that of reading a label, which is what it stands for."""
    from benchmarks.spelled_out import BruteForce  # which imports torch; the other parts here do not need it

    num_rows, lines = 8 if quick else 60, list[list[Any]]()
    with engine_of("tiny", MODEL_DIR, ENGINE_ARGS) as engine, connection_to(engine, num_rows, CHARS) as con:
        assert engine.running is not None
        for question in QUESTIONS:
            brute = BruteForce(MODEL_DIR, question.options)
            asked = question.prompts(texts_of(con))
            true = [brute.probabilities(ids)[0] for ids in engine.running.encoder.encode(asked, None)]
            for read in ("exact", "label"):
                call = question.weighed(more=f", read := '{read}'")
                found = con.execute(f"SELECT {call} FROM rated ORDER BY id").fetchall()
                told = [_all_of(value) for (value,) in found]
                lines.append([question.name, read, brute.num_spellings, _largest_error(true, told)])
    print(table(["question", "read", "spellings", "largest error"], lines), "\n")
    largest = {read: max(line[3] for line in lines if line[1] == read) for read in ("exact", "label")}
    return PartFindings({"exact_error": largest["exact"], "label_error": largest["label"]}, lines)


def _all_of(value: Any) -> list[float]:
    """The probability of each choice: of yes and of no where that of yes alone is told."""
    return list(value.values()) if isinstance(value, dict) else [value, 1 - value]


def _largest_error(true: Sequence[Sequence[float]], told: Sequence[Sequence[float]]) -> float:
    pairs = zip(true, told, strict=True)
    return max(abs(p - said) for row, answer in pairs for p, said in zip(row, answer, strict=True))
