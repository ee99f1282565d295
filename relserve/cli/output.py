"""Results as the command line writes them: tables and lines for people; CSV, JSON and Arrow for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.types as kinds
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from relserve.cli.columns import NAME_WIDTH, fitting, shortened
from relserve.cli.console import console
from relserve.cli.formats import Format
from relserve.cli.picture import is_number

MAX_CELL = 100  # characters of a cell that a table shows
MAX_ROWS = 40  # rows that a table shows
EXPLAINED = ["explain_key", "explain_value"]  # the columns of EXPLAIN


def write(table: pa.Table, format: Format, out: TextIO | None = None) -> None:
    """Write a result to a text stream, by default stdout; CSV, Arrow and Parquet go to the bytes below it."""
    out = sys.stdout if out is None else out
    is_plan = table.column_names == EXPLAINED and format in (Format.line, Format.markdown)
    if format is Format.table or is_plan:
        print_table(console(file=out), table)
    elif format is Format.line:
        _write_lines(table, out)
    elif format is Format.markdown:
        _write_markdown(table, out)
    elif format is Format.json:
        _write_json(table, out)
    else:
        out.flush()
        _write_bytes(table, format, out.buffer)


def _write_bytes(table: pa.Table, format: Format, out: BinaryIO) -> None:
    if format is Format.csv:
        pyarrow.csv.write_csv(_in_duckdb(table, _csv_column), out)
    elif format is Format.parquet:
        _write_parquet(table, out)
    else:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)


def _write_parquet(table: pa.Table, out: BinaryIO) -> None:
    """As DuckDB's COPY writes it, which knows more types than Arrow's writer; by a file, for it goes back."""
    with TemporaryDirectory() as folder, duckdb.connect() as con:
        path = Path(folder) / "result.parquet"
        con.register("result", table.rename_columns(_distinct(table.column_names)))
        con.execute(f"COPY result TO '{path}' (FORMAT parquet)")
        out.write(path.read_bytes())


def print_table(
    console: Console, table: pa.Table, max_rows: int = MAX_ROWS, hint: str = "--format csv writes all"
) -> None:
    """Show the first rows of a result; of EXPLAIN, the plan as DuckDB draws it.

    Args:
        hint: where not all rows or columns are shown, how to have them.
    """
    if table.column_names == EXPLAINED:
        for plan in table.column(1).to_pylist():
            console.print(plan, soft_wrap=True)
        return
    rows = [[_cell(value) for value in row] for row in _rows(table.slice(0, max_rows), _table_column)]
    columns = [_Column.of(field, [row[i] for row in rows]) for i, field in enumerate(table.schema)]
    kept = fitting([column.width for column in columns], console.width)
    shown = Table(header_style="bold")
    for index in kept:
        shown.add_column("…") if index is None else columns[index].add_to(shown)
    for row in rows:
        shown.add_row(*("…" if index is None else row[index] for index in kept))
    console.print(shown)
    left_out = []
    if table.num_rows > max_rows:
        left_out.append(f"{max_rows:,} of {table.num_rows:,} rows")
    if None in kept:
        left_out.append(f"{len(kept) - 1} of {len(columns)} columns")
    if left_out:
        console.print(f"({', '.join(left_out)} shown; {hint})")


class _Column(NamedTuple):
    """A column of a table for people; `width` is the least that it needs."""

    name: str
    is_short: bool
    width: int

    @classmethod
    def of(cls, field: pa.Field, cells: list[str]) -> _Column:
        is_short = kinds.is_primitive(field.type) or kinds.is_decimal(field.type)
        widest = max(map(cell_len, cells), default=0)
        name = shortened(field.name, widest) if is_short else field.name
        width = max(widest, cell_len(name)) if is_short else min(max(widest, cell_len(name)), NAME_WIDTH)
        return cls(name, is_short, width)

    def add_to(self, table: Table) -> None:
        side: Literal["left", "right"] = "right" if self.is_short else "left"
        table.add_column(self.name, no_wrap=self.is_short, justify=side, min_width=self.width)


def _write_lines(table: pa.Table, out: TextIO) -> None:
    """A line a value, its column's name before it, and an empty line between rows."""
    width = max(map(cell_len, table.column_names), default=0)
    heads = [" " * (width - cell_len(name)) + name + " = " for name in table.column_names]
    below = "\n" + " " * (width + 3)
    for number, row in enumerate(_rows(table, _text_column)):
        out.write("\n" if number else "")
        for head, value in zip(heads, row, strict=True):
            out.write(head + ("NULL" if value is None else value.replace("\n", below)) + "\n")


def _write_markdown(table: pa.Table, out: TextIO) -> None:
    sides = ["---:" if is_number(field.type) else "---" for field in table.schema]
    for cells in (table.column_names, sides, *_rows(table, _text_column)):
        out.write("| " + " | ".join(map(_markdown_cell, cells)) + " |\n")


def _markdown_cell(text: str | None) -> str:
    if text is None:
        return "NULL"
    return "<br>".join(text.replace("\\", "\\\\").replace("|", "\\|").splitlines())


def _write_json(table: pa.Table, out: TextIO) -> None:
    heads = [json.dumps(name, ensure_ascii=False) for name in _distinct(table.column_names)]
    for row in _rows(table, _json_column):
        fields = (f"{head}: {value or 'null'}" for head, value in zip(heads, row, strict=True))
        out.write("{" + ", ".join(fields) + "}\n")


def _rows(table: pa.Table, expression: Callable[[str, pa.DataType], str]) -> Iterator[tuple[Any, ...]]:
    for batch in _in_duckdb(table, expression).to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _in_duckdb(table: pa.Table, expression: Callable[[str, pa.DataType], str]) -> pa.Table:
    """The table with each column as a SQL expression over it has it: DuckDB knows how its types read."""
    names = [f"c{i}" for i in range(table.num_columns)]
    columns = (expression(name, column.type) for name, column in zip(names, table.schema, strict=True))
    with duckdb.connect() as con:
        con.register("result", table.rename_columns(names))
        done: pa.Table = con.sql(f"SELECT {', '.join(columns)} FROM result").to_arrow_table()
    return done.rename_columns(table.column_names)


def _csv_column(name: str, kind: pa.DataType) -> str:
    if kinds.is_nested(kind):
        return f"to_json({name})::VARCHAR"
    return name if is_number(kind) or kinds.is_boolean(kind) else f"{name}::VARCHAR"


def _json_column(name: str, kind: pa.DataType) -> str:
    text = f"to_json({name})::VARCHAR"
    return f"CASE WHEN isfinite({name}) THEN {text} END" if _is_float(kind) else text


def _text_column(name: str, kind: pa.DataType) -> str:
    return f"{name}::VARCHAR"


def _table_column(name: str, kind: pa.DataType) -> str:
    return name if _is_float(kind) else f"{name}::VARCHAR"


def _is_float(kind: pa.DataType) -> bool:
    return bool(kinds.is_floating(kind))


def _distinct(names: list[str]) -> list[str]:
    """The names with a number after each that came before, so that no JSON field hides another."""
    seen: list[str] = []
    for name in names:
        tries = [name, *(f"{name}_{i}" for i in range(1, len(names) + 1))]
        seen.append(next(each for each in tries if each not in seen))
    return seen


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 3] + "..."
