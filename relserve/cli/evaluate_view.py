"""The tables of an evaluation as people read them: short ones, a share with its interval in one cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from relserve.frames.evaluation_result import Evaluation

# What stands in each table under which name, in widths that a screen of 80 columns has room for.
RIGHT = {"run": "run", "model": "model", "question": "question", "of": "right", "null_answers": "NULL",
         "accuracy": "accuracy"}  # fmt: skip
COST = {"run": "run", "commonest_label": "commonest", "macro_f1": "macro F1",
        "mean_absolute_error": "mean error", "prompt_tokens": "tokens in", "output_tokens": "tokens out",
        "seconds": "seconds"}  # fmt: skip
CLASSES = {"run": "run", "class": "class", "support": "support", "given": "given", "right": "right",
           "precision": "precision", "recall": "recall", "f1": "F1"}  # fmt: skip
COMPARISON = {"first": "first", "second": "second", "both_right": "both right", "only_first": "only first",
              "only_second": "only second", "both_wrong": "neither", "p_value": "p-value"}  # fmt: skip
WORST = {"run": "run", "row": "row", "label": "label", "answer": "answer", "confidence": "confidence",
         "why": "why", "input": "input"}  # fmt: skip


def for_people(found: Evaluation) -> Iterator[tuple[str, pa.Table]]:
    """Each table in which something stands, after its title."""
    summary = found.summary
    yield "How often it is right, with the 95 % interval", _table(_with_counts(summary), RIGHT)
    yield "Beside it: the commonest label, errors, and what was asked", _table(summary, COST)
    if any(run.classes for run in found.runs):
        yield "By class", _table(found.classes, CLASSES)
        yield "Rows by label (down) and answer (across)", found.confusion
    if len(found.runs) > 1:
        title = "Two runs on the same rows: a p-value above 0.05 is no evidence that one is better"
        yield title, _table(found.comparison, COMPARISON)
    if (worst := found.worst).num_rows:
        yield "The worst rows", _table(worst, WORST)


def _with_counts(summary: pa.Table) -> pa.Table:
    pairs = zip(summary.column("right_answers").to_pylist(), summary.column("rows").to_pylist(), strict=True)
    return summary.append_column("of", pa.array([f"{right:,} of {rows:,}" for right, rows in pairs]))


def _table(table: pa.Table, columns: dict[str, str]) -> pa.Table:
    """Columns of a table by other names, without those in which nothing stands."""
    kept = [name for name in columns if table.column(name).null_count < table.num_rows]
    return pa.table([_column(table, name) for name in kept], names=[columns[name] for name in kept])


def _column(table: pa.Table, name: str) -> pa.Array | pa.ChunkedArray:
    if f"{name}_low" not in table.column_names:
        return table.column(name)
    ends = (table.column(name + end).to_pylist() for end in ("", "_low", "_high"))
    return pa.array([_share(*each) for each in zip(*ends, strict=True)])


def _share(value: Any, low: Any, high: Any) -> str | None:
    """Such as "0.42 (0.29 to 0.56)"; None where there is no share."""
    return None if value is None else f"{value:.2f} ({low:.2f} to {high:.2f})"
