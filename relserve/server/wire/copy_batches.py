"""Rows that COPY brought as an Arrow batch whose columns DuckDB casts to the table's on INSERT."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from relserve.errors import ProtocolError
from relserve.server.wire import types
from relserve.server.wire.copy_reader import Row
from relserve.server.wire.parameters import BINARY_FORMAT, TEXT_FORMAT, read_parameter
from relserve.server.wire.types import PgType, ResultColumn

_READ_BY_DUCKDB = frozenset((
    types.TEXT, types.VARCHAR, types.BPCHAR, types.NAME, types.INT2, types.INT4, types.INT8, types.NUMERIC,
    types.FLOAT4, types.FLOAT8, types.UUID, types.JSON,
))  # fmt: skip


def copied_batch(rows: Sequence[Row], columns: Sequence[ResultColumn], *, is_binary: bool) -> pa.RecordBatch:
    """A batch with texts in most columns, bytes for bytea, and lists of either for arrays.

    Raises:
        ProtocolError: a value is not of its column's type (22P02 in text, 22P03 in binary).
    """
    arrays = [
        _array([row[i] for row in rows], column.type, BINARY_FORMAT if is_binary else TEXT_FORMAT)
        for i, column in enumerate(columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])


def _array(values: list[str | bytes | None], kind: PgType, format_code: int) -> pa.Array:
    if format_code == TEXT_FORMAT and kind.oid in _READ_BY_DUCKDB:
        return pa.array(values, pa.string())
    read = _reader(kind.oid, format_code)
    if kind.oid == types.FLOAT4 and format_code == BINARY_FORMAT and any(len(v) == 8 for v in values if v):
        raise ProtocolError(
            "a column of FLOAT, which has 4 bytes, got values of 8 bytes", "22P03",
            "DuckDB declares its DOUBLE as FLOAT when it makes a table here. Make the table first, "
            "with DOUBLE: CALL postgres_execute('..', 'CREATE TABLE ..').",
        )  # fmt: skip
    storage = pa.binary() if types.BYTEA in (kind.oid, kind.element) else pa.string()
    given = [None if value is None else read(value) for value in values]
    return pa.array(given, _nested(storage, given) if kind.element else storage)


def _reader(oid: int, format_code: int) -> Callable[[str | bytes], Any]:
    def read(value: str | bytes) -> Any:
        return _plain(read_parameter(value.encode() if isinstance(value, str) else value, format_code, oid))

    return read


def _nested(storage: pa.DataType, lists: Sequence[Any]) -> pa.DataType:
    """Lists of lists as deep as the first value that holds something."""
    inner: Any = next((each for each in lists if each), [])
    while isinstance(inner, list):
        storage, inner = pa.list_(storage), inner[0] if inner else None
    return storage


def _plain(value: Any) -> Any:
    """A text that DuckDB reads as the same value; bytes and lists stay what they are."""
    match value:
        case None | bytes() | str():
            return value
        case list():
            return [_plain(each) for each in value]
        case duckdb.Value():
            return _plain(value.object)
        case Decimal():
            return f"{value:f}"
        case bool() | int() | float() | uuid.UUID():
            return str(value)
    raise TypeError(f"no text for {type(value).__name__}")
