"""`relserve calibrate decisions`: corrects probabilities by labelled rows, and shows what that brought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from rich.text import Text

import relserve
from relserve.cli.console import console
from relserve.cli.evaluate import LABEL, LabelledData, labelled_rows
from relserve.cli.output import print_table
from relserve.cli.picture import Bars, picture
from relserve.evaluation.calibration_scores import ReliabilityBin
from relserve.session.calibrated_calls import CalibrationReport
from relserve.settings import prefer_shared


def run(data: LabelledData, question: str, given: Mapping[str, Any], has_chart: bool) -> None:
    """Fit a calibration, keep it, and print the figures.

    Args:
        given: further arguments of `relserve.calibrate_decisions`.

    Raises:
        UsageError: there is no such data, or as of `relserve.calibrate_decisions`.
    """
    rows = labelled_rows(data)
    prefer_shared()
    found = relserve.calibrate_decisions(
        rows.drop_columns([LABEL]), question, truth=rows.column(LABEL), **given
    )
    screen = console()
    print_table(screen, _figures(found.report))
    print_table(screen, _reliability(found.report))
    for line in _notes(found.report):
        screen.print(line, soft_wrap=True)
    if has_chart:
        for when, bins in (("before", found.report.bins_before), ("after", found.report.bins_after)):
            bars = Bars("", list(map(_range_of, bins)), [each.true_share for each in bins])
            screen.print(Text(f"share that is right, by probability, {when}", style="bold"), picture(bars))


def _figures(found: CalibrationReport) -> pa.Table:
    return pa.table({
        f"{found.name}: {found.method}, {found.num_rows:,} rows": ["Brier score", "calibration error"],
        "before": [found.brier_before, found.error_before], "after": [found.brier_after, found.error_after],
    })  # fmt: skip


def _reliability(found: CalibrationReport) -> pa.Table:
    """A line a bin: what it says and how often that is right, before and after."""
    parts = (found.bins_before, found.bins_after)
    before, after = ({_range_of(each): each for each in bins} for bins in parts)
    names = sorted(before.keys() | after.keys())
    columns = [[_told(bins.get(name)) for name in names] for bins in (before, after)]
    return pa.table([names, *columns], names=["probability", "before (rows)", "after (rows)"])


def _told(found: ReliabilityBin | None) -> str:
    if found is None:
        return ""
    return f"said {found.said:.2f}, right {found.true_share:.2f} ({found.num_rows:,})"


def _range_of(each: ReliabilityBin) -> str:
    return f"{each.low:.1f} to {each.high:.1f}"


def _notes(found: CalibrationReport) -> Iterator[str]:
    yield "'after' is what each row gets when the calibration is fitted to rows without it"
    if found.method == "none":
        yield "no correction does better on such rows: the probabilities stay as the model told them"
    yield f"kept in {found.path}; use it: calibration := '{found.name}'"
