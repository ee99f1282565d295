"""Nested values as JSON texts, as DuckDB's to_json writes them; NaN and infinities as strings."""

from __future__ import annotations

import json
import re
from functools import lru_cache

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.server.wire import types
from relserve.server.wire.arrays import plain, with_nulls
from relserve.server.wire.lists import elements_of, regrouped
from relserve.server.wire.scalar_texts import scalar_text
from relserve.server.wire.types import PgType

_NULL = pa.scalar(b"null")
_EXTENSION = {"ARROW:extension:name": "arrow.parquet.variant", "ARROW:extension:metadata": ""}
# JSON has no such numbers; a string in which the words stand is passed over.
_STRING_OR_NO_NUMBER = re.compile(rb'("(?:[^"\\]|\\.)*+")|(-?+(?:NaN|Infinity))')


def json_texts(array: pa.Array) -> pa.Array:
    """The values of a JSON column: texts as they are, and anything else written as JSON; null stays null."""
    storage = plain(array)
    if pa.types.is_string(storage.type):
        return storage.cast(pa.binary())
    return written(array)


def written(array: pa.Array) -> pa.Array:
    """Any values as JSON; null stays null."""
    kind = array.type
    if isinstance(kind, pa.JsonType):
        return array.storage.cast(pa.binary())
    if _is_variant(kind):
        return _variant_texts(array)
    if pa.types.is_struct(kind):
        return _structs(array)
    if pa.types.is_map(kind):
        return _maps(array)
    if pa.types.is_union(kind):
        return _unions(array)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(array, written(elements_of(array)))
    return _scalars(array)


def _structs(array: pa.Array) -> pa.Array:
    parts: list[pa.Array | pa.Scalar] = [pa.repeat(_bytes("{"), len(array))]
    for i in range(array.type.num_fields):  # Arrow's flatten() aborts the process for a union inside
        comma = "," if i else ""
        parts += (
            _bytes(f"{comma}{_quoted(array.type.field(i).name)}:"),
            pc.fill_null(written(array.field(i)), _NULL),
        )
    return with_nulls(pc.binary_join_element_wise(*parts, b"}", b""), array)


def _lists(array: pa.Array, elements: pa.Array, brackets: str = "[]") -> pa.Array:
    joined = pc.binary_join(regrouped(array, pc.fill_null(elements, _NULL)), b",")
    return with_nulls(
        pc.binary_join_element_wise(_bytes(brackets[0]), joined, _bytes(brackets[1]), b""), array
    )


def _maps(array: pa.Array) -> pa.Array:
    """Objects; a key that is no text is written as a text of its JSON."""
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    keys, values = (each.slice(start, end - start) for each in (array.keys, array.items))
    names = pa.array([_as_name(key) for key in written(keys).to_pylist()], pa.binary())
    pairs = pc.binary_join_element_wise(names, _bytes(":"), pc.fill_null(written(values), _NULL), b"")
    return _lists(array, pairs, "{}")


def _as_name(key: bytes) -> bytes:
    return key if key.startswith(b'"') else _quoted(key.decode()).encode()


def _unions(array: pa.Array) -> pa.Array:
    """Objects with one name, that of the member that the value is of."""
    codes = np.asarray(array.type_codes)
    made = np.full(len(array), None, object)
    for i in range(array.type.num_fields):
        is_this = codes == i
        name = _quoted(array.type.field(i).name)
        values = np.array(written(array.field(i)).to_pylist(), object)[is_this]
        made[is_this] = [None if value is None else b"{%s:%s}" % (name.encode(), value) for value in values]
    return pa.array(made.tolist(), pa.binary())


def _scalars(array: pa.Array) -> pa.Array:
    kind = _kind(array.type)
    texts = scalar_text(array, kind)
    if kind.oid == types.BOOL:
        return pc.if_else(plain(array), pa.scalar(b"true"), pa.scalar(b"false"))
    if kind.oid in (types.INT8, types.NUMERIC):
        return texts
    shown = [None if text is None else _quoted(text.decode()).encode() for text in texts.to_pylist()]
    quoted = pa.array(shown, pa.binary())
    if kind.oid == types.FLOAT8:
        return pc.if_else(pc.is_finite(array), texts, quoted)
    return quoted


def _kind(kind: pa.DataType) -> PgType:
    """PostgreSQL's type for a value inside another, of which only Arrow's type is known."""
    if isinstance(kind, pa.OpaqueType):
        return _OPAQUE.get(kind.type_name, PgType(types.TEXT))
    if isinstance(kind, pa.UuidType):
        return PgType(types.UUID)
    if isinstance(kind, pa.Bool8Type):
        return PgType(types.BOOL)
    for is_of, oid in _KINDS:
        if is_of(kind):
            return PgType(oid)
    return PgType(types.TEXT)


_OPAQUE = {
    "bit": PgType(types.VARBIT),
    "time_tz": PgType(types.TIMETZ),
    "hugeint": PgType(types.NUMERIC),
    "uhugeint": types.UHUGEINT,
    "bignum": PgType(types.NUMERIC),
}
_KINDS = (
    (pa.types.is_boolean, types.BOOL),
    (pa.types.is_integer, types.INT8),
    (pa.types.is_decimal, types.NUMERIC),
    (pa.types.is_floating, types.FLOAT8),
    (pa.types.is_date, types.DATE),
    (pa.types.is_time, types.TIME),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, types.TIMESTAMPTZ),
    (pa.types.is_timestamp, types.TIMESTAMP),
    (pa.types.is_interval, types.INTERVAL),
    (pa.types.is_binary, types.BYTEA),
)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _bytes(text: str) -> pa.Scalar:
    return pa.scalar(text.encode(), pa.binary())


def _is_variant(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a VARIANT's, as Parquet encodes it; a user's own `metadata` could be null."""
    return (
        pa.types.is_struct(kind)
        and [field.name for field in kind] == ["metadata", "value"]
        and not kind.field("metadata").nullable
    )


def _variant_texts(array: pa.Array) -> pa.Array:
    """Each value as JSON; null stays null."""
    rows = pa.table([array], pa.schema([pa.field("v", array.type, metadata=_EXTENSION)]))
    with _database().cursor() as cursor:
        texts = cursor.from_arrow(rows).project("v::JSON::VARCHAR").fetchall()
    return pa.array([None if text is None else _sound(text.encode()) for (text,) in texts], pa.binary())


@lru_cache(maxsize=1)
def _database() -> duckdb.DuckDBPyConnection:
    """A database that holds nothing; its cursors convert values."""
    return duckdb.connect()


def _sound(text: bytes) -> bytes:
    """NaN and infinities as strings."""
    return _STRING_OR_NO_NUMBER.sub(lambda found: found[1] or b'"%s"' % found[2], text)
