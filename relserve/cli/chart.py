"""`relserve sql --chart`: a result as bars, as a line over time, or as a histogram of one number."""

from __future__ import annotations

import math
from itertools import pairwise

import pyarrow as pa
import pyarrow.types as kinds
from rich.console import Group, RenderableType
from rich.text import Text

from relserve.cli.picture import MOST, Bars, is_number, names_of, numbers_of, picture
from relserve.errors import UsageError

MOST_BINS = 12
WIDTH, HEIGHT = 60, 12  # of a line chart, in cells of 2 by 4 dots
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of a Braille cell, by column and row


def chart_of(rows: pa.Table) -> RenderableType:
    """What the first fitting columns of a result look like.

    A time and a number are a line; a category and a number bars, also where the category is a whole number
    that comes once each; a number alone a histogram.

    Raises:
        UsageError: no column is a number, or none of its values is.
    """
    numbers = [i for i, field in enumerate(rows.schema) if is_number(field.type)]
    others = [i for i in range(rows.num_columns) if i not in numbers]
    times = [i for i in others if _is_time(rows.schema.field(i).type)]
    if numbers and not any(map(math.isfinite, numbers_of(rows.column(numbers[0])))):
        numbers = []
    if not numbers:
        found = ", ".join(f"{field.name} {field.type}" for field in rows.schema)
        mend = ": select a number, too, such as count(*)" if rows.num_rows else ""
        raise UsageError(
            "--chart draws a category or a time with a number, or a number alone; the result has "
            f"{rows.num_rows:,} rows of {found}{mend}"
        )
    number = numbers[0]
    if times:
        return _line(rows, times[0], number)
    if others:
        return _bars(rows, others[0], number)
    return _bars(rows, 0, 1) if _is_counted(rows) else _histogram(rows, number)


def _is_counted(rows: pa.Table) -> bool:
    """Whether a result of numbers alone has a category in its first column: each of a few values once."""
    if rows.num_columns < 2 or not 2 <= rows.num_rows <= MOST:
        return False
    first = rows.column(0).to_pylist()
    return bool(kinds.is_integer(rows.schema.field(0).type)) and len(set(first)) == len(first)


def _bars(rows: pa.Table, category: int, number: int) -> RenderableType:
    shown = rows.slice(0, MOST)
    title = f"{rows.column_names[number]} by {rows.column_names[category]}"
    bars = Bars(title, names_of(shown.column(category)), numbers_of(shown.column(number)))
    left_out = [Text(f"(the first {MOST} of {rows.num_rows:,} rows)")] if rows.num_rows > MOST else []
    return Group(Text(title, style="bold"), picture(bars), *left_out)


def _histogram(rows: pa.Table, number: int) -> RenderableType:
    """How many rows have which values: each of a few whole numbers, else ranges of one width."""
    values = sorted(filter(math.isfinite, numbers_of(rows.column(number))))
    distinct = sorted(set(values))
    if len(distinct) <= MOST_BINS and all(value.is_integer() for value in distinct):
        names, counts = [f"{value:,.0f}" for value in distinct], [values.count(value) for value in distinct]
    else:
        num_bins = min(MOST_BINS, math.ceil(math.log2(len(values))) + 1)  # Sturges' rule
        low, width = values[0], (values[-1] - values[0]) / num_bins or 1.0
        counts = [0] * num_bins
        for value in values:
            counts[min(int((value - low) / width), num_bins - 1)] += 1
        names = [f"{low + i * width:,.4g} to {low + (i + 1) * width:,.4g}" for i in range(num_bins)]
    title = f"rows by {rows.column_names[number]}"
    return Group(Text(title, style="bold"), picture(Bars(title, names, [float(each) for each in counts])))


def _line(rows: pa.Table, time: int, number: int) -> RenderableType:
    """A number over time, whatever the order of the rows; rows of one time are their mean."""
    column = rows.column(time)
    at = dict(zip(_ticks(column), names_of(column), strict=True))
    found: dict[int, list[float]] = {}
    for tick, value in zip(_ticks(column), numbers_of(rows.column(number)), strict=True):
        if tick is not None and math.isfinite(value):
            found.setdefault(tick, []).append(value)
    points = [(float(tick), sum(values) / len(values)) for tick, values in sorted(found.items())]
    if not points:
        raise UsageError(f"--chart has nothing to draw: no row has {rows.column_names[time]} and a number")
    low, high = min(y for _, y in points), max(y for _, y in points)
    sides = [f"{high:,.4g}", *[""] * (HEIGHT - 2), f"{low:,.4g}"]
    margin = max(map(len, sides))
    lines = [f"{side:>{margin}} {line}" for side, line in zip(sides, _dotted(points, low, high), strict=True)]
    first, last = at[int(points[0][0])], at[int(points[-1][0])]
    below = " " * (margin + 1) + first + last.rjust(max(WIDTH - len(first), len(last) + 1))
    title = f"{rows.column_names[number]} by {rows.column_names[time]}"
    return Group(Text(title, style="bold"), *map(Text, [*lines, below]))


def _dotted(points: list[tuple[float, float]], low: float, high: float) -> list[str]:
    """The lines of a field of Braille dots in which the points are joined."""
    cells = [[0] * WIDTH for _ in range(HEIGHT)]
    start, span = points[0][0], points[-1][0] - points[0][0] or 1.0
    columns, heights = 2 * WIDTH - 1, 4 * HEIGHT - 1
    places = [
        (round((x - start) / span * columns), round((high - y) / (high - low or 1.0) * heights))
        for x, y in points
    ]  # fmt: skip
    for (x0, y0), (x1, y1) in pairwise([places[0], *places]):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(steps + 1):
            x, y = round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps)
            cells[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
    return ["".join(chr(0x2800 + cell) for cell in line) for line in cells]


def _is_time(kind: pa.DataType) -> bool:
    return bool(kinds.is_date(kind) or kinds.is_timestamp(kind) or kinds.is_time(kind))


def _ticks(column: pa.ChunkedArray) -> list[int | None]:
    """Times as whole numbers that grow with them."""
    kind = column.type
    if kinds.is_date(kind):
        column = column.cast(pa.timestamp("ms"))
    elif kinds.is_time32(kind):
        column = column.cast(pa.time64("us"))
    ticks: list[int | None] = column.cast(pa.int64()).to_pylist()
    return ticks
