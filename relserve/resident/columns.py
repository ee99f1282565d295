"""Columns as DuckDB's extension sends and takes them (`duckdb_ext/shell/columns.c` and `answers.c`).

A column that comes is one byte for its type, what the type needs besides, which rows are NULL, and the values
in Arrow's layout; so it becomes an Arrow array without looking at a value. A column that goes is a length for
each row, -1 for NULL, and the values one after another.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from relserve.errors import EngineError

# by DuckDB's numbers of types (duckdb_type in duckdb.h), those whose values have one width
_FIXED = {
    1: pa.uint8(), 2: pa.int8(), 3: pa.int16(), 4: pa.int32(), 5: pa.int64(), 6: pa.uint8(), 7: pa.uint16(),
    8: pa.uint32(), 9: pa.uint64(), 10: pa.float32(), 11: pa.float64(), 12: pa.timestamp("us"),
    13: pa.date32(), 14: pa.time64("us"), 15: pa.month_day_nano_interval(), 20: pa.timestamp("s"),
    21: pa.timestamp("ms"), 22: pa.timestamp("ns"),
}  # fmt: skip
_BOOLEAN, _VARCHAR, _BLOB, _DECIMAL = 1, 17, 18, 19
_LIST, _STRUCT, _MAP, _UNION, _TIMESTAMP_TZ, _ARRAY, _NULL = 24, 25, 26, 28, 31, 33, 36
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WIDTHS = {pa.month_day_nano_interval(): 16}


class ColumnReader:
    """Reads the columns of a message, one after another.

    Args:
        zone: of times with a zone, as the client's TimeZone setting has it.
    """

    def __init__(self, message: bytes, position: int, zone: str) -> None:
        self._message, self._position, self._zone = message, position, zone
        self._read: dict[int, Callable[[int, pa.Buffer | None], pa.Array]] = {
            _VARCHAR: self._strings(pa.string()), _BLOB: self._strings(pa.binary()), _LIST: self._list,
            _STRUCT: self._struct, _MAP: self._map, _UNION: self._union, _ARRAY: self._array,
            _NULL: lambda num_rows, validity: pa.nulls(num_rows),
        }  # fmt: skip

    def column(self, num_rows: int) -> pa.Array:
        """The next column.

        Raises:
            EngineError: the message holds no such column.
        """
        code = self._take(1)[0]
        decimal = struct.unpack("BB", self._take(2)) if code == _DECIMAL else None
        has_nulls = self._take(1)[0]
        validity = pa.py_buffer(self._take((num_rows + 7) // 8)) if has_nulls else None
        if decimal is not None:
            return self._fixed(pa.decimal128(*decimal), num_rows, validity)
        if code == _TIMESTAMP_TZ:
            return self._fixed(pa.timestamp("us", self._zone or "UTC"), num_rows, validity)
        if code in _FIXED:
            array = self._fixed(_FIXED[code], num_rows, validity)
            return array.cast(pa.bool_()) if code == _BOOLEAN else array
        if code not in self._read:
            raise EngineError(f"DuckDB's extension sent a column of an unknown type, number {code}")
        return self._read[code](num_rows, validity)

    def _take(self, size: int) -> bytes:
        taken = self._message[self._position : self._position + size]
        self._position += size
        if len(taken) < size:
            raise EngineError("DuckDB's extension sent a message that ends too soon")
        return taken

    def _number(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _name(self) -> str:
        return self._take(self._number()).decode("utf-8", "replace")

    def _fixed(self, kind: pa.DataType, num_rows: int, validity: pa.Buffer | None) -> pa.Array:
        width = _WIDTHS.get(kind) or kind.bit_width // 8
        return pa.Array.from_buffers(kind, num_rows, [validity, pa.py_buffer(self._take(width * num_rows))])

    def _offsets(self, num_rows: int) -> tuple[pa.Buffer, int]:
        """Where each row's elements begin, and where the last one's end."""
        offsets = self._take(4 * (num_rows + 1))
        return pa.py_buffer(offsets), int.from_bytes(offsets[-4:], "little")

    def _strings(self, kind: pa.DataType) -> Callable[[int, pa.Buffer | None], pa.Array]:
        def read(num_rows: int, validity: pa.Buffer | None) -> pa.Array:
            offsets, size = self._offsets(num_rows)
            return pa.Array.from_buffers(kind, num_rows, [validity, offsets, pa.py_buffer(self._take(size))])

        return read

    def _list(self, num_rows: int, validity: pa.Buffer | None) -> pa.Array:
        offsets, size = self._offsets(num_rows)
        elements = self.column(size)
        kind = pa.list_(elements.type)
        return pa.Array.from_buffers(kind, num_rows, [validity, offsets], children=[elements])

    def _map(self, num_rows: int, validity: pa.Buffer | None) -> pa.Array:
        offsets, size = self._offsets(num_rows)
        entries = self.column(size)
        kind = pa.map_(entries.type.field(0).type, entries.type.field(1).type)
        return pa.Array.from_buffers(kind, num_rows, [validity, offsets], children=[entries])

    def _array(self, num_rows: int, validity: pa.Buffer | None) -> pa.Array:
        size = self._number()
        elements = self.column(num_rows * size)
        kind = pa.list_(elements.type, size)
        return pa.Array.from_buffers(kind, num_rows, [validity], children=[elements])

    def _struct(self, num_rows: int, validity: pa.Buffer | None) -> pa.Array:
        fields, children = self._members(num_rows)
        return pa.Array.from_buffers(pa.struct(fields), num_rows, [validity], children=children)

    def _union(self, num_rows: int, validity: pa.Buffer | None) -> pa.Array:
        tags = self._take(num_rows)
        fields, children = self._members(num_rows)
        buffers = [None, pa.py_buffer(tags)]
        return pa.Array.from_buffers(pa.sparse_union(fields), num_rows, buffers, children=children)

    def _members(self, num_rows: int) -> tuple[list[pa.Field], list[pa.Array]]:
        fields, children = [], []
        for _ in range(self._number()):
            name = self._name()
            children.append(self.column(num_rows))
            fields.append(pa.field(name, children[-1].type))
        return fields, children


def column_bytes(values: Sequence[Any]) -> bytes:
    """A column that goes: texts, booleans, doubles, whole numbers of 64 bits, and times."""
    parts = [None if value is None else _bytes_of(value) for value in values]
    lengths = [-1 if part is None else len(part) for part in parts]
    return struct.pack(f"<{len(parts)}i", *lengths) + b"".join(part for part in parts if part)


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bool):
        return bytes([value])
    if isinstance(value, datetime):
        return struct.pack("<q", (value - _EPOCH) // timedelta(microseconds=1))
    return struct.pack("<d" if isinstance(value, float) else "<q", value)
