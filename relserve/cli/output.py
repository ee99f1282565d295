"""Results as the command line writes them: a table for people; CSV, JSON lines and Arrow for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.types as kinds
from rich.console import Console
from rich.table import Table

from relserve.cli.console import console
from relserve.cli.formats import Format

MAX_CELL = 100  # characters of a cell that a table shows
MAX_ROWS = 40  # rows that a table shows


def write(table: pa.Table, format: Format) -> None:
    """Write a result to stdout."""
    if format is Format.table:
        print_table(console(), table)
    elif format is Format.csv:
        pyarrow.csv.write_csv(_in_duckdb(table, _csv_column), sys.stdout.buffer)
    elif format is Format.json:
        _write_json(table)
    else:
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
            writer.write_table(table)


def print_table(console: Console, table: pa.Table) -> None:
    """Show the first rows of a result; of EXPLAIN, the plan as DuckDB draws it."""
    if table.column_names == ["explain_key", "explain_value"]:
        for plan in table.column(1).to_pylist():
            console.print(plan, markup=False, highlight=False, soft_wrap=True)
        return
    shown = Table(header_style="bold")
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_short = kinds.is_primitive(column.type) or kinds.is_decimal(column.type)
        side: Literal["left", "right"] = "right" if is_short else "left"
        shown.add_column(name, no_wrap=is_short, justify=side, min_width=min(len(name), 12))
    cells = _in_duckdb(table.slice(0, MAX_ROWS), _table_column)
    for row in zip(*(column.to_pylist() for column in cells.columns), strict=True):
        shown.add_row(*map(_cell, row))
    console.print(shown, markup=False)
    if table.num_rows > MAX_ROWS:
        console.print(f"({MAX_ROWS} of {table.num_rows:,} rows shown; --format csv writes all)")


def _write_json(table: pa.Table) -> None:
    heads = [json.dumps(name, ensure_ascii=False) for name in _distinct(table.column_names)]
    for batch in _in_duckdb(table, _json_column).to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            fields = (f"{head}: {value or 'null'}" for head, value in zip(heads, row, strict=True))
            sys.stdout.write("{" + ", ".join(fields) + "}\n")


def _in_duckdb(table: pa.Table, expression: Callable[[str, pa.DataType], str]) -> pa.Table:
    """The table with each column as a SQL expression over it has it: DuckDB knows how its types read."""
    names = [f"c{i}" for i in range(table.num_columns)]
    columns = (expression(name, column.type) for name, column in zip(names, table.schema, strict=True))
    with duckdb.connect() as con:
        con.register("result", table.rename_columns(names))
        done: pa.Table = con.sql(f"SELECT {', '.join(columns)} FROM result").to_arrow_table()
    return done.rename_columns(table.column_names)


def _csv_column(name: str, kind: pa.DataType) -> str:
    plain = kinds.is_integer(kind) or kinds.is_boolean(kind) or kinds.is_decimal(kind) or _is_float(kind)
    return name if plain else f"{name}::VARCHAR"


def _json_column(name: str, kind: pa.DataType) -> str:
    text = f"to_json({name})::VARCHAR"
    return f"CASE WHEN isfinite({name}) THEN {text} END" if _is_float(kind) else text


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
