"""Bars on a terminal, for rows that are a category and a number."""

from __future__ import annotations

import math
from typing import NamedTuple

import pyarrow as pa
import pyarrow.types as kinds
from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from relserve.cli.columns import shortened

FEWEST, MOST = 2, 40  # rows of a picture
WIDTH = 60  # of the longest bar, in cells
NAME_WIDTH = 32


class Bars(NamedTuple):
    """What is drawn, in the order of the rows."""

    title: str
    names: list[str]
    values: list[float]


def bars_of(rows: pa.Table) -> Bars | None:
    """The bars that a result is; None where it is none: not one category and one number, or too many rows."""
    if rows.num_columns != 2 or not FEWEST <= rows.num_rows <= MOST:
        return None
    numbers = [index for index in (0, 1) if is_number(rows.schema.field(index).type)]
    if len(numbers) != 1:
        return None
    values = numbers_of(rows.column(numbers[0]))
    if not any(map(math.isfinite, values)):
        return None
    return Bars(rows.column_names[numbers[0]], names_of(rows.column(1 - numbers[0])), values)


def picture(bars: Bars) -> Table:
    """Bars beside their names, from zero to the left or right; none for what is no number."""
    finite = [value for value in bars.values if math.isfinite(value)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    drawn = Table.grid(padding=(0, 1))
    for _ in range(3):
        drawn.add_column(no_wrap=True)
    for name, value in zip(bars.names, bars.values, strict=True):
        begin, end = sorted((0.0, value)) if math.isfinite(value) else (0.0, 0.0)
        bar = Bar(high - low or 1.0, begin - low, end - low, width=WIDTH, color="cyan")
        shown = f"{value:,.6g}" if math.isfinite(value) else ""
        drawn.add_row(Text(shortened(name, NAME_WIDTH)), bar, Text(shown, justify="right"))
    return drawn


def numbers_of(column: pa.ChunkedArray) -> list[float]:
    """A column's numbers; NaN for NULL."""
    return [math.nan if value is None else float(value) for value in column.to_pylist()]


def names_of(column: pa.ChunkedArray) -> list[str]:
    """A column's values as names, in one line each."""
    return [_name_of(value) for value in column.to_pylist()]


def _name_of(value: object) -> str:
    """In a line, NULL and truths as tables show them."""
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type can be drawn as numbers."""
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))
