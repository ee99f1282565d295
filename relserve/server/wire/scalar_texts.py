"""Values that hold no others as PostgreSQL's text form of them, as bytes."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.compute as pc

from relserve.server.wire import types
from relserve.server.wire.arrays import each, plain
from relserve.server.wire.numerals import float_text, numeric_text
from relserve.server.wire.times import (
    date_text,
    interval_text,
    time_text,
    timestamp_text,
    timestamptz_text,
    timetz_text,
)
from relserve.server.wire.types import UHUGEINT, PgType


def scalar_text(array: pa.Array, kind: PgType) -> pa.Array:
    """The values as text, in UTF-8; null stays null."""
    array = plain(array)
    if kind.oid == types.NUMERIC:
        return numeric_text(array, is_unsigned=kind == UHUGEINT)
    return _TEXTS.get(kind.oid, _as_it_is)(array)


def _as_it_is(array: pa.Array) -> pa.Array:
    """Numbers, texts and enums; bytes of a type that PostgreSQL has not, such as GEOMETRY, in hex."""
    if pa.types.is_binary(array.type) or pa.types.is_fixed_size_binary(array.type):
        return each(array, lambda value: value.hex().upper())
    return array.cast(pa.string()).cast(pa.binary())


def _bool(array: pa.Array) -> pa.Array:
    return pc.if_else(array, pa.scalar(b"t"), pa.scalar(b"f"))


def _bytea(array: pa.Array) -> pa.Array:
    return each(array, lambda value: "\\x" + value.hex())


def _uuid(array: pa.Array) -> pa.Array:
    if pa.types.is_fixed_size_binary(array.type):
        return each(array, lambda value: str(uuid.UUID(bytes=value)))
    return _as_it_is(array)


def _bits(array: pa.Array) -> pa.Array:
    return each(array, bit_digits)


def bit_digits(value: bytes) -> str:
    """The digits of DuckDB's BIT: its first byte tells how many bits of padding come before them."""
    bits = value[1:]
    return f"{int.from_bytes(bits, 'big'):0{8 * len(bits)}b}"[value[0] :]


_TEXTS = {
    types.BOOL: _bool,
    types.BYTEA: _bytea,
    types.UUID: _uuid,
    types.BIT: _bits,
    types.VARBIT: _bits,
    types.FLOAT4: float_text,
    types.FLOAT8: float_text,
    types.DATE: date_text,
    types.TIME: time_text,
    types.TIMETZ: timetz_text,
    types.TIMESTAMP: timestamp_text,
    types.TIMESTAMPTZ: timestamptz_text,
    types.INTERVAL: interval_text,
}
