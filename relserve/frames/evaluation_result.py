"""What `relserve.evaluate` found, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import pyarrow as pa

from relserve.call.relquery import Usage
from relserve.evaluation.graded import GradedRow, Measure, worst
from relserve.evaluation.intervals import MeasuredShare
from relserve.evaluation.scores import Score, class_scores, confusion, paired, score

MAX_WORST = 20  # rows of each run


@dataclass(frozen=True)
class EvaluatedRun:
    """One wording asked of one model.

    Attributes:
        number: from 1, in the order in which they were asked.
        inputs: what stood in the placeholders of each row; None where a NULL did.
        num_prompts, usage, seconds: what was asked, and what it took.
    """

    number: int
    template: str
    measure: Measure
    classes: tuple[Any, ...]
    rows: tuple[GradedRow, ...]
    inputs: tuple[str | None, ...]
    model: str
    num_prompts: int
    usage: Usage
    seconds: float

    @cached_property
    def score(self) -> Score:
        """The score of all rows."""
        return score(self.rows, self.measure, self.classes)

    @cached_property
    def is_right(self) -> list[bool]:
        """Of each row, whether its answer is right."""
        return [row.is_right(self.measure) for row in self.rows]


@dataclass(frozen=True)
class Evaluation:
    """What answers are worth beside labels, a run for each model and wording; see `relserve.evaluate`.

    Its tables are pyarrow's; a run is named by its number. Shares go from 0 to 1, and `.._low` and `.._high`
    are the ends of their 95 % intervals (Wilson).

    Attributes:
        function: that was asked.
        options: its options.
        num_unlabelled: rows of the data that were left out, for they have no label.
        runs: in the order in which they were asked.
    """

    function: str
    options: Mapping[str, Any]
    num_unlabelled: int
    runs: tuple[EvaluatedRun, ...]

    def __repr__(self) -> str:
        return "\n".join(_line(run) for run in self.runs)

    @property
    def summary(self) -> pa.Table:
        """One row a run: its accuracy, NULL answers, errors, and what it took."""
        return pa.Table.from_pylist([_summary_row(run) for run in self.runs], _SUMMARY)

    @property
    def classes(self) -> pa.Table:
        """One row a run and class: precision, recall, F1, and on how many rows they stand."""
        rows = [row for run in self.runs for row in _class_rows(run)]
        return pa.Table.from_pylist(rows, _CLASSES)

    @property
    def confusion(self) -> pa.Table:
        """One row a run and label: how many rows got each class as their answer, and how many NULL."""
        runs = [run for run in self.runs if run.classes]
        heads = [_text(name) for name in runs[0].classes] if runs else []
        columns: list[list[Any]] = [[] for _ in range(3 + len(heads))]
        for run in runs:
            for head, counts in zip(heads, confusion(run.rows, run.classes), strict=True):
                for column, value in zip(columns, (run.number, head, *counts), strict=True):
                    column.append(value)
        types = [pa.int64(), pa.string(), *[pa.int64()] * (len(heads) + 1)]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.table(arrays, names=["run", "label", *heads, "NULL"])

    @property
    def comparison(self) -> pa.Table:
        """One row a pair of runs: on how many rows only one of them is right, and McNemar's exact p-value."""
        rows = []
        for first, second in combinations(self.runs, 2):
            pair = paired(first.is_right, second.is_right)
            rows.append({
                "first": first.number, "second": second.number, "both_right": pair.both,
                "only_first": pair.only_first, "only_second": pair.only_second, "both_wrong": pair.neither,
                "p_value": pair.p_value,
            })  # fmt: skip
        return pa.Table.from_pylist(rows, _COMPARISON)

    @property
    def worst(self) -> pa.Table:
        """The 20 worst rows of each run: numbers furthest from their labels, other answers surest first."""
        rows = []
        for run in self.runs:
            inputs = {row.place: text for row, text in zip(run.rows, run.inputs, strict=True)}
            for row in worst(run.rows, run.measure, MAX_WORST):
                rows.append(_row(run, row, inputs[row.place]))
        return pa.Table.from_pylist(rows, _WORST)

    @property
    def rows(self) -> pa.Table:
        """Every row of each run, with its label and its answer."""
        rows = [
            _row(run, row, text) for run in self.runs for row, text in zip(run.rows, run.inputs, strict=True)
        ]
        return pa.Table.from_pylist(rows, _ROWS)


_SUMMARY = pa.schema(
    [
        ("run", pa.int64()), ("model", pa.string()), ("question", pa.string()), ("rows", pa.int64()),
        ("right_answers", pa.int64()), ("null_answers", pa.int64()), ("accuracy", pa.float64()),
        ("accuracy_low", pa.float64()), ("accuracy_high", pa.float64()), ("commonest_label", pa.float64()),
        ("macro_f1", pa.float64()), ("mean_absolute_error", pa.float64()), ("prompts", pa.int64()),
        ("prompt_tokens", pa.int64()), ("output_tokens", pa.int64()), ("seconds", pa.float64()),
    ]
)  # fmt: skip
_CLASSES = pa.schema(
    [
        ("run", pa.int64()), ("class", pa.string()), ("support", pa.int64()), ("given", pa.int64()),
        ("right", pa.int64()), ("precision", pa.float64()), ("precision_low", pa.float64()),
        ("precision_high", pa.float64()), ("recall", pa.float64()), ("recall_low", pa.float64()),
        ("recall_high", pa.float64()), ("f1", pa.float64()),
    ]
)  # fmt: skip
_COMPARISON = pa.schema(
    [
        *((name, pa.int64()) for name in
          ("first", "second", "both_right", "only_first", "only_second", "both_wrong")),
        ("p_value", pa.float64()),
    ]
)  # fmt: skip
_ROWS = pa.schema(
    [
        ("run", pa.int64()), ("row", pa.int64()), ("label", pa.string()), ("answer", pa.string()),
        ("right", pa.bool_()), ("confidence", pa.float64()), ("why", pa.string()), ("input", pa.string()),
    ]
)  # fmt: skip

_WORST = _ROWS.remove(_ROWS.get_field_index("right"))


def _summary_row(run: EvaluatedRun) -> dict[str, Any]:
    found = run.score
    return {
        "run": run.number, "model": run.model, "question": run.template, "rows": found.num_rows,
        "right_answers": found.num_right, "null_answers": found.num_null,
        **_share("accuracy", found.accuracy), "commonest_label": found.commonest, "macro_f1": found.macro_f1,
        "mean_absolute_error": found.mean_absolute_error, "prompts": run.num_prompts,
        "prompt_tokens": run.usage.prompt_tokens, "output_tokens": run.usage.output_tokens,
        "seconds": run.seconds,
    }  # fmt: skip


def _class_rows(run: EvaluatedRun) -> Iterator[dict[str, Any]]:
    for each in class_scores(run.rows, run.classes):
        yield {
            "run": run.number, "class": _text(each.name), "support": each.support, "given": each.num_given,
            "right": each.num_right, **_share("precision", each.precision), **_share("recall", each.recall),
            "f1": each.f1,
        }  # fmt: skip


def _row(run: EvaluatedRun, row: GradedRow, text: str | None) -> dict[str, Any]:
    return {
        "run": run.number, "row": row.place + 1, "label": _text(row.label), "answer": _text(row.answer),
        "right": row.is_right(run.measure), "confidence": row.confidence, "why": row.why, "input": text,
    }  # fmt: skip


def _share(name: str, share: MeasuredShare | None) -> dict[str, float | None]:
    value, low, high = share or (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _line(run: EvaluatedRun) -> str:
    found = run.score
    share = found.accuracy
    told = "no rows" if share is None else f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"
    counts = f"right {found.num_right:,} of {found.num_rows:,}"
    return f"run {run.number}: {counts}, {told}; {run.model}: {run.template}"


def _text(value: Any) -> str | None:
    """A label or an answer as SQL writes it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
