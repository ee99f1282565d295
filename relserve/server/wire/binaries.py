"""Arrow arrays as PostgreSQL's binary form of their values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.errors import ProtocolError
from relserve.server.wire import types
from relserve.server.wire.arrays import each, fixed, numbers, plain, with_nulls
from relserve.server.wire.lists import list_binary
from relserve.server.wire.moments import EPOCH_DAYS, EPOCH_MICROSECONDS
from relserve.server.wire.numeric_binary import numeric_binary
from relserve.server.wire.texts import as_text
from relserve.server.wire.times import (
    INFINITE_DAY,
    INFINITE_INSTANT,
    interval_binary,
    microseconds,
    timetz_parts,
)
from relserve.server.wire.types import UHUGEINT, PgType

_TIMETZ = np.dtype([("micros", ">i8"), ("west", ">i4")])


def as_binary(array: pa.Array, kind: PgType) -> pa.Array:
    """The values as bytes; null stays null.

    Raises:
        ProtocolError: a date or time is beyond what PostgreSQL's type holds.
    """
    if kind.element:
        element = PgType(kind.element, kind.typmod)
        return list_binary(array, kind.element, lambda values: as_binary(values, element))
    if kind.oid == types.NUMERIC:
        return numeric_binary(plain(array), is_unsigned=kind == UHUGEINT)
    if kind.oid in _BINARIES:
        return _BINARIES[kind.oid](plain(array))
    return as_text(array, kind)


def _integer(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    dtype = np.dtype(kind.to_pandas_dtype()).newbyteorder(">")
    return lambda array: fixed(numbers(array.cast(kind), dtype), array)


def _float(dtype: str) -> Callable[[pa.Array], pa.Array]:
    return lambda array: fixed(numbers(array, np.dtype(dtype)), array)


def _bool(array: pa.Array) -> pa.Array:
    return pc.if_else(array, pa.scalar(b"\1"), pa.scalar(b"\0"))


def _date(array: pa.Array) -> pa.Array:
    days = numbers(array, np.int64)
    moved = _moved(days, EPOCH_DAYS, INFINITE_DAY, "date")
    return fixed(moved.astype(">i4"), array)


def _timestamp(array: pa.Array) -> pa.Array:
    moved = _moved(microseconds(array), EPOCH_MICROSECONDS, INFINITE_INSTANT, "timestamp")
    return fixed(moved.astype(">i8"), array)


def _moved(values: np.ndarray, epoch: int, infinite: int, of: str) -> np.ndarray:
    """Since 2000 instead of 1970; -infinity, DuckDB's second smallest number, is PostgreSQL's smallest."""
    is_infinite = np.abs(values) == infinite
    if (~is_infinite & (values < epoch - infinite)).any():
        raise ProtocolError(
            f"{of} out of range: too early for PostgreSQL's binary form", "22008", "Cast it to VARCHAR."
        )
    return np.where(is_infinite, np.where(values > 0, infinite, -infinite - 1), values - ~is_infinite * epoch)


def _time(array: pa.Array) -> pa.Array:
    return fixed(microseconds(array).astype(">i8"), array)


def _timetz(array: pa.Array) -> pa.Array:
    micros, offsets = timetz_parts(array)
    made = np.empty(len(micros), _TIMETZ)
    made["micros"], made["west"] = micros, -offsets
    return fixed(made, array)


def _uuid(array: pa.Array) -> pa.Array:
    if pa.types.is_fixed_size_binary(array.type):
        return array.cast(pa.binary())
    return each(array, lambda value: bytes.fromhex(value.replace("-", "")))


def _bits(array: pa.Array) -> pa.Array:
    """The number of bits, then the bits from the left; DuckDB has its padding at the left."""
    return each(array, _bit)


def _bit(value: bytes) -> bytes:
    padding, bits = value[0], value[1:]
    count = 8 * len(bits) - padding
    digits = int.from_bytes(bits, "big") & ((1 << count) - 1)
    return count.to_bytes(4, "big") + (digits << padding).to_bytes(len(bits), "big")


def _jsonb(array: pa.Array) -> pa.Array:
    texts = as_text(array, PgType(types.JSON))
    return with_nulls(pc.binary_join_element_wise(pa.scalar(b"\1"), texts, b""), texts)


_BINARIES: dict[int, Callable[[pa.Array], pa.Array]] = {
    types.BOOL: _bool,
    types.BYTEA: lambda array: array.cast(pa.binary()),
    types.INT2: _integer(pa.int16()),
    types.INT4: _integer(pa.int32()),
    types.INT8: _integer(pa.int64()),
    types.OID: _integer(pa.uint32()),
    types.REGPROC: _integer(pa.uint32()),
    types.REGCLASS: _integer(pa.uint32()),
    types.REGTYPE: _integer(pa.uint32()),
    types.FLOAT4: _float(">f4"),
    types.FLOAT8: _float(">f8"),
    types.DATE: _date,
    types.TIME: _time,
    types.TIMETZ: _timetz,
    types.TIMESTAMP: _timestamp,
    types.TIMESTAMPTZ: _timestamp,
    types.INTERVAL: interval_binary,
    types.UUID: _uuid,
    types.BIT: _bits,
    types.VARBIT: _bits,
    types.JSONB: _jsonb,
}
