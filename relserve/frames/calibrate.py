"""`relserve.calibrate_decisions`: corrects the probabilities of llm_prob and llm_probs by labelled rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from relserve.call.checks import plain_name
from relserve.call.relquery import CallSite
from relserve.call.template import Template
from relserve.engines.protocol import Engine
from relserve.evaluation.calibration_scores import ReliabilityBin
from relserve.evaluation.graded import Measure
from relserve.frames.call import warn
from relserve.frames.evaluate import engine_of, shown_labels
from relserve.frames.functions import call_of
from relserve.frames.labelled_sample import label_column, sample_of, whole
from relserve.frames.labels import LabelReader
from relserve.session.calibrated_calls import (
    CalibrationReport,
    calibrate,
    probabilities_of,
    truth_of,
    wanted_label,
)


class DecisionCalibration:
    """What a calibration brought; its tables are pyarrow's. See `relserve.calibrate_decisions`.

    Attributes:
        report: the figures, and the file that keeps the calibration.
    """

    def __init__(self, report: CalibrationReport) -> None:
        self.report = report

    def __repr__(self) -> str:
        found = self.report
        return (
            f"{found.name}: {found.method}, {found.num_rows:,} rows; "
            f"Brier score {found.brier_before:.4f} to {found.brier_after:.4f}, "
            f"calibration error {found.error_before:.4f} to {found.error_after:.4f}"
        )

    @property
    def summary(self) -> pa.Table:
        """One row: Brier score and expected calibration error, before and after, of rows left out."""
        return pa.Table.from_pylist([self.report.row])

    @property
    def reliability(self) -> pa.Table:
        """One row a bin of probability, before and after: its mean, and its share of right rows."""
        found = self.report
        rows = [
            {"when": when, **each._asdict()}
            for when, bins in (("before", found.bins_before), ("after", found.bins_after))
            for each in bins
        ]
        return pa.Table.from_pylist(rows).select(["when", *ReliabilityBin._fields])


def calibrate_decisions(
    data: Any,
    template: str,
    *,
    truth: Any,
    name: str,
    choices: Sequence[str] | None = None,
    model: str | None = None,
    columns: Iterable[Any] | None = None,
    rows: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    progress: bool | None = None,
    cache: bool = True,
    **options: Any,
) -> DecisionCalibration:
    """Fit a calibration of llm_prob, or of llm_probs, to labelled rows, and keep it under a name.

    A call with `calibration := 'name'` then gives corrected probabilities. It must have the same question,
    choices, options and model. The method (none, temperature, Platt or isotonic) is the simplest whose
    Brier score on rows that were left out is within one standard error of the best.

    Args:
        data: pandas or polars frame, pyarrow table, DuckDB relation.
        template: the question, as of `relserve.llm_prob`.
        truth: the column of right answers, by its name, or as values, one a row. Rows without one are left
            out, and so are rows without an answer.
        name: under which it is kept, in place of one of this name.
        choices: those of llm_probs; None: the question is one of llm_prob.
        model, columns, rows, seed, engine, progress: as of `relserve.evaluate`.
        cache: use kept answers, and keep new ones.
        options: of the function.

    Raises:
        UsageError: the call is wrong, a label is no answer, or the rows are too few.
        ModelError, EngineError, RowError: as of `relserve.llm_prob`.
    """
    plain_name("name", name)
    source = whole(data)
    column = label_column(source, truth, "truth")
    given = {"columns": columns, "engine": engine, "progress": progress, "cache": cache, "model": model}
    if choices is not None:
        given["choices"] = choices
    call = call_of("llm_prob" if choices is None else "llm_probs", data, template, {**options, **given})
    told = shown_labels(call, source, column)
    parsed = Template.parse(template)
    site = CallSite(call.function, parsed.bind(parsed.num_inputs), call.options)
    reader = LabelReader(Measure.CLASSES, (), wanted_label(site), partial(truth_of, site))
    sample = sample_of(source, reader.read_all(column.to_pylist()), rows, seed)
    asked = call.ask_rows(sample)
    warn([*told, *call.warnings_of(asked, sample.num_rows)], stacklevel=2)
    answers = [asked.answers[at].value if at >= 0 else None for at in asked.folded.places.tolist()]
    pairs = [
        (probabilities_of(site, value), label)
        for value, label in zip(answers, sample.labels, strict=True)
        if value is not None
    ]
    report = calibrate(name, site, engine_of(call), [p for p, _ in pairs], [label for _, label in pairs])
    return DecisionCalibration(report)
