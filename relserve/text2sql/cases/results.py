"""What a query gave, kept small: enough to compare results and to show them to a model."""

from __future__ import annotations

import hashlib
import json
import math
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from relserve.text2sql.prompts.quoting import as_data

SHOWN_ROWS, SHOWN_COLUMNS = 5, 12
LARGEST_WHOLE = 2**53  # up to it a DOUBLE holds every whole number
_VOID = ("None", "0")


class ShownRows(NamedTuple):
    """The rows that a query gave; whether there are more of them."""

    table: pa.Table
    is_cut: bool = False


class ResultSet(NamedTuple):
    """A result.

    Attributes:
        in_order: a hash of its rows in their order.
        as_set: a hash of its rows in whatever order. Both are the same for columns in another order or of
            other names, and for numbers of another type. None: the result was cut, and which of its rows are
            known is chance.
        is_void: no row, or one of nothing but NULL and 0.
        shown: its first rows as text for a prompt.
    """

    num_rows: int
    is_void: bool
    in_order: str | None
    as_set: str | None
    shown: str

    @classmethod
    def of(cls, first: ShownRows) -> ResultSet:
        """The result of which these are the rows."""
        table = first.table
        if first.is_cut:
            return cls(table.num_rows, False, None, None, f"{_shown(table)}, and more after these")
        columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
        columns.sort(key=sorted)
        rows = [json.dumps(row) for row in zip(*columns, strict=True)]
        is_void = not rows or (len(rows) == 1 and all(column[0] in _VOID for column in columns))
        return cls(table.num_rows, is_void, _hash(rows), _hash(sorted(rows)), _shown(table))


def _plain(value: Any) -> str:
    """A value as text, the same for equal numbers of different types.

    Of a DOUBLE that is not whole nine digits count, for sums in another order differ in the last ones.
    """
    if isinstance(value, bool) or value is None:
        return str(value)
    if not isinstance(value, (int, float, Decimal)):
        return f"'{value}"
    if not math.isfinite(value):
        return str(float(value))
    if value == int(value) and (not isinstance(value, float) or abs(value) < LARGEST_WHOLE):
        return str(int(value))
    short = f"{float(value):.9g}"
    return short if isinstance(value, float) or Decimal(short) == value else f"{value:f}".rstrip("0")


def _hash(rows: list[str]) -> str:
    hashed = hashlib.blake2b(digest_size=16)
    for row in rows:
        hashed.update(row.encode("utf-8", "surrogatepass") + b"\n")
    return hashed.hexdigest()


def _shown(table: pa.Table) -> str:
    few = table.select(range(min(SHOWN_COLUMNS, table.num_columns))).slice(0, SHOWN_ROWS)
    lines = [" | ".join(as_data(name) for name in few.column_names)]
    lines += [
        " | ".join("NULL" if value is None else as_data(str(value)) for value in row)
        for row in zip(*(column.to_pylist() for column in few.columns), strict=True)
    ]
    if few.num_rows < table.num_rows:
        lines.append(f"and {table.num_rows - few.num_rows:,} rows more")
    return "\n".join(lines)
