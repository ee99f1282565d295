"""Columns of a UDF chunk as Python values that read in a prompt as DuckDB would print them."""

from __future__ import annotations

import json
import sys
import threading
from array import array as packed
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from relserve.call.value_ranges import check_ranges
from relserve.call.vector_text import KIND, column_of_texts
from relserve.errors import UsageError

MOST_CHARACTERS = 2**31 - 1  # of a column whose offsets have 32 bits
MOST_REPEATED = 1 << 20  # characters of a column that is compared as a whole

_local = threading.local()


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The column's values, one a row.

    Text, integers, booleans, doubles and blobs are Python values, and so are lists and structs; everything
    else (dates, decimals, floats of 32 bits, intervals, maps ..) is the text that DuckDB prints for it,
    because Python prints many of those otherwise or cannot hold them (the year 20000, infinity). Inside
    lists and structs they are what DuckDB's JSON makes of them.

    Raises:
        UsageError: a time zone that DuckDB does not know, a value out of range, or a type it cannot read.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if _reads_alike(kind):
        return list(array.to_pylist())
    if _is_list_or_struct(kind):
        if _is_json_alike(kind):
            return list(array.to_pylist())
        texts = _in_duckdb(array, "to_json(v)::VARCHAR")
        return [None if text is None else json.loads(text) for text in texts]
    return _in_duckdb(array, "to_json(v)::VARCHAR" if kinds.is_map(kind) else "v::VARCHAR")


def texts_of(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """The column's values, one a row, as DuckDB's cast to VARCHAR prints them."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if kinds.is_null(array.type):
        return [None] * len(array)
    return _in_duckdb(array, "v::VARCHAR")


def constant_of(column: pa.Array | pa.ChunkedArray) -> tuple[bool, Any]:
    """Whether all rows hold the same value, and that value; the column is text and not empty."""
    first, num_rows = column[0], len(column)
    if not first.is_valid:
        return column.null_count == num_rows, None
    value = first.as_py()
    if column.null_count:
        return False, value
    if num_rows == 1 or _is_repeated(column, value):
        return True, value
    import pyarrow.compute as pc  # takes 30 ms, and is seldom needed

    return bool(pc.all(pc.equal(column, first)).as_py()), value


class _Repeated(NamedTuple):
    """One text over and over, as Arrow has it in memory."""

    offsets: pa.Buffer
    characters: pa.Buffer


def _is_repeated(column: pa.Array | pa.ChunkedArray, text: str) -> bool:
    """Whether a column is seen at a glance to be one text over and over; else one has to look row by row.

    DuckDB hands the template and the options over with every row of every chunk: looking row by row at these
    took a tenth of a statement's time beside the model.
    """
    if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
        column = column.chunk(0)
    if isinstance(column, pa.ChunkedArray) or not kinds.is_string(column.type):
        return False
    num_rows, (_, offsets, characters) = len(column), column.buffers()
    if column.offset or characters is None or len(text) * num_rows > MOST_REPEATED:
        return False
    one = _repeated(text, num_rows)
    sizes = one.offsets.size, one.characters.size
    return bool(
        offsets.size >= sizes[0] and characters.size >= sizes[1]
        and offsets.slice(0, sizes[0]).equals(one.offsets)
        and characters.slice(0, sizes[1]).equals(one.characters)
    )  # fmt: skip


@lru_cache(maxsize=16)
def _repeated(text: str, num_rows: int) -> _Repeated:
    data = text.encode()
    offsets = packed("i", range(0, (num_rows + 1) * len(data), len(data)) if data else [0] * (num_rows + 1))
    return _Repeated(pa.py_buffer(offsets), pa.py_buffer(data * num_rows))


def to_arrow(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Answers as a column; what a model spelled with lone surrogates is mended, not fatal."""
    try:
        return _array(values, kind)
    except UnicodeEncodeError:
        mended = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
        return _array(mended, kind)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if values and values[0] is None and values.count(None) == len(values):
        return pa.nulls(len(values), kind)  # as of every chunk that a rehearsal looks at
    if kind == KIND:
        return column_of_texts(values)
    if "pandas" in sys.modules:
        return pa.array(values, kind)
    # pa.array would import pandas, which takes seconds; buffers and a builder do not
    if kind == pa.string() and (found := _of_letters(values)) is not None:
        return found
    if kind == pa.bool_():
        return _of_booleans(values)
    builder = pa.lib.StringBuilder()
    builder.append_values(values if kind == pa.string() else [None if v is None else repr(v) for v in values])
    return builder.finish().cast(kind)


def _of_booleans(values: list[Any]) -> pa.Array:
    """Yes and no as a column, without the cast for which Arrow would import its functions in 30 ms."""
    known, said = np.array([(value is not None, bool(value)) for value in values], bool).reshape(-1, 2).T
    known, said = (np.packbits(bits, bitorder="little") for bits in (known, said))
    return pa.Array.from_buffers(pa.bool_(), len(values), [pa.py_buffer(known), pa.py_buffer(said)])


def _of_letters(values: list[Any]) -> pa.Array | None:
    """ASCII texts as a column, twice as quickly as by a builder; None where other values are among them."""
    try:
        text = "".join(values)
    except TypeError:  # a NULL
        return None
    if not text.isascii() or len(text) > MOST_CHARACTERS:
        return None
    offsets = packed("i", accumulate(map(len, values), initial=0))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _reads_alike(kind: pa.DataType) -> bool:
    return bool(
        kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
        or kinds.is_integer(kind) or kinds.is_boolean(kind) or kinds.is_float64(kind)
        or kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_null(kind)
    )  # fmt: skip


def _is_list_or_struct(kind: pa.DataType) -> bool:
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_struct(kind))


def _is_json_alike(kind: pa.DataType) -> bool:
    """Whether the JSON of the Python value is that of DuckDB."""
    if _is_list_or_struct(kind):
        return all(_is_json_alike(kind.field(i).type) for i in range(kind.num_fields))
    return _reads_alike(kind) and not (kinds.is_binary(kind) or kinds.is_large_binary(kind))


def _zone_of(kind: pa.DataType) -> str | None:
    """The zone of a column's times, also of those inside lists and structs; None where there is none."""
    if kinds.is_dictionary(kind):
        return _zone_of(kind.value_type)
    inner = [kind.field(i).type for i in range(kind.num_fields)] if kinds.is_nested(kind) else []
    return getattr(kind, "tz", None) or next(filter(None, map(_zone_of, inner)), None)


def _in_duckdb(array: pa.Array, expression: str) -> list[Any]:
    check_ranges(array)
    con = getattr(_local, "con", None)
    if con is None:
        con = _local.con = duckdb.connect(config={"threads": 1})
    try:
        _set_zone(con, _zone_of(array.type))
        con.register("chunk", pa.table({"v": array}))
        texts = con.execute(f"SELECT {expression} FROM chunk").fetchall()
        con.unregister("chunk")
    except duckdb.Error as error:
        _local.con = None  # an internal error of DuckDB ends its database for good
        reason = str(error).partition("\n")[0]
        raise UsageError(f"values of the type {array.type} cannot be printed by DuckDB: {reason}") from error
    return [text for (text,) in texts]


def _set_zone(con: duckdb.DuckDBPyConnection, zone: str | None) -> None:
    """Let times be printed in a column's zone, whose name is data and never a part of SQL."""
    if not zone:
        return
    try:  # Arrow's +05:30 is no zone that DuckDB knows
        con.execute("SET TimeZone = ?", [f"GMT{zone}" if zone[0] in "+-" else zone])
    except duckdb.Error as error:
        raise UsageError(
            f"the times are in the zone {zone[:80]!r}, which DuckDB does not know; "
            "convert them to one that it knows, such as 'UTC', 'Europe/Berlin' or '+05:30'"
        ) from error
