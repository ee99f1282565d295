"""`relserve evaluate`: how often a call is right on labelled rows of a table or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

import relserve
from relserve.cli.console import console
from relserve.cli.data_files import names_a_file, scan_of
from relserve.cli.databases import missing_tables_told
from relserve.cli.evaluation_parts import Part
from relserve.cli.formats import Format
from relserve.cli.output import print_table, write
from relserve.errors import UsageError
from relserve.examples import TABLES
from relserve.examples import scan_of as example_scan_of
from relserve.frames.evaluation_result import Evaluation
from relserve.linking.schema import quoted
from relserve.settings import prefer_shared

LABEL = "label of the row"  # a column beside those of the data
WHOLE = (Format.table, Format.line, Format.markdown, Format.json)  # show all parts where none is named
# What stands in each table under which name, in widths that a screen of 80 columns has room for.
_RIGHT = {"run": "run", "model": "model", "question": "question", "of": "right", "null_answers": "NULL",
         "accuracy": "accuracy"}  # fmt: skip
_COST = {"run": "run", "commonest_label": "commonest", "macro_f1": "macro F1",
        "mean_absolute_error": "mean error", "prompt_tokens": "tokens in", "output_tokens": "tokens out",
        "seconds": "seconds"}  # fmt: skip
_CLASSES = {"run": "run", "class": "class", "support": "support", "given": "given", "right": "right",
           "precision": "precision", "recall": "recall", "f1": "F1"}  # fmt: skip
_COMPARISON = {"first": "first", "second": "second", "both_right": "both right", "only_first": "only first",
              "only_second": "only second", "both_wrong": "neither", "p_value": "p-value"}  # fmt: skip
_WORST = {"run": "run", "row": "row", "label": "label", "answer": "answer", "confidence": "confidence",
         "why": "why", "input": "input"}  # fmt: skip


class LabelledData(NamedTuple):
    """Where the labelled rows are.

    Attributes:
        place: a table, a file of rows, or a SELECT.
        label: the right answer of a row, in SQL.
        db: a DuckDB file, only read; None: none.
        examples: the shipped tables are there, too.
    """

    place: str
    label: str
    db: Path | None
    examples: bool


def run(
    data: LabelledData,
    questions: Sequence[str],
    models: Sequence[str],
    given: Mapping[str, Any],
    part: Part | None,
    format: Format,
) -> None:
    """Evaluate each question with each model, and write what was found.

    Args:
        given: further arguments of `relserve.evaluate`.
        part: the table to write; None: all for people, the summary for programs.

    Raises:
        UsageError: there is no such data, or as of `relserve.evaluate`.
    """
    table = labelled_rows(data)
    prefer_shared()
    found = relserve.evaluate(
        table.drop_columns([LABEL]), list(questions), label=table.column(LABEL),
        model=list(models) or None, **given,
    )  # fmt: skip
    if part is None and format in WHOLE:
        _write_all(found, format)
    else:
        write(_table_of(found, part or Part.summary), format)


def option_of(text: str) -> tuple[str, Any]:
    """An option that was given as NAME=VALUE; the value is JSON, or else a text.

    Raises:
        UsageError: there is no "=" in it.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--option must be NAME=VALUE, such as max_tokens=20, not {text!r}")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def labelled_rows(data: LabelledData) -> pa.Table:
    """The rows, with the right answer of each in the column LABEL.

    Raises:
        UsageError: there is no such data.
        duckdb.Error: its text is no query.
    """
    if data.db is not None and not data.db.is_file():
        raise UsageError(f"there is no file {str(data.db)!r}")
    with duckdb.connect(str(data.db or ":memory:"), read_only=data.db is not None) as con:
        con.execute("SET enable_progress_bar = false")  # DuckDB writes its bar between the rows on stdout
        for name in TABLES if data.examples else ():
            con.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} AS FROM {example_scan_of(name)}")
        source = _source(data.place)
        with missing_tables_told(data.db, data.examples):
            label = _label(data.label, con.sql(f"FROM {source}").columns)
        return con.sql(f'SELECT *, ({label}) AS "{LABEL}" FROM {source}').to_arrow_table()


def _label(label: str, columns: Sequence[str]) -> str:
    """A label in SQL; the name of a column means it, a name such as "order" and "bought on" too."""
    name = label.strip().casefold()
    return quoted(label.strip()) if name in map(str.casefold, columns) else label


def _source(place: str) -> str:
    """What stands after FROM.

    Raises:
        UsageError: it is a folder.
    """
    if Path(place).is_dir():
        raise UsageError(f"{place!r} is a folder: name a file in it, or several: '{Path(place)}/*.csv'")
    first = place.split(maxsplit=1)[0].casefold() if place.strip() else ""
    if first in ("select", "from", "with", "values"):
        return f"({place})"
    return scan_of(place) if names_a_file(place) or Path(place).is_file() else place


def _table_of(found: Evaluation, part: Part) -> pa.Table:
    table: pa.Table = getattr(found, part.value)
    return table


def _write_all(found: Evaluation, format: Format) -> None:
    """All but the rows: an object a line that names its table, or tables with titles."""
    if format is Format.json:
        for part in Part:
            table = _table_of(found, part)
            if part is not Part.rows:
                write(table.add_column(0, "part", pa.array([part.value] * table.num_rows)), format)
        return
    for title, table in _for_people(found):
        sys.stdout.write(f"## {title}\n\n" if format is Format.markdown else f"{title}\n")
        if format is Format.table:
            print_table(console(), table, table.num_rows, "--part NAME --format csv writes all")
        else:
            write(table, format)
        sys.stdout.write("\n")
    sys.stdout.write(_notes(found))


def _notes(found: Evaluation) -> str:
    options = "".join(f", {name} := {value!r}" for name, value in found.options.items())
    left_out = (
        f"; {found.num_unlabelled:,} rows without a label were left out" if found.num_unlabelled else ""
    )
    return f"asked: {found.function}(..{options}){left_out}\n"


def _for_people(found: Evaluation) -> Iterator[tuple[str, pa.Table]]:
    """Each table in which something stands, after its title."""
    summary = found.summary
    yield "How often it is right, with the 95 % interval", _table(_with_counts(summary), _RIGHT)
    yield "Beside it: the commonest label, errors, and what was asked", _table(summary, _COST)
    if any(run.classes for run in found.runs):
        yield "By class", _table(found.classes, _CLASSES)
        yield "Rows by label (down) and answer (across)", found.confusion
    if len(found.runs) > 1:
        title = "Two runs on the same rows: a p-value above 0.05 is no evidence that one is better"
        yield title, _table(found.comparison, _COMPARISON)
    if (worst := found.worst).num_rows:
        yield "The worst rows", _table(worst, _WORST)


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
