"""DuckDB's VARIANT, which Arrow brings in Parquet's variant encoding, as the JSON that DuckDB makes of it."""

from __future__ import annotations

import re
from functools import lru_cache

import duckdb
import pyarrow as pa

_EXTENSION = {"ARROW:extension:name": "arrow.parquet.variant", "ARROW:extension:metadata": ""}
# JSON has no such numbers; a string in which the words stand is passed over.
_STRING_OR_NO_NUMBER = re.compile(rb'("(?:[^"\\]|\\.)*+")|(-?+(?:NaN|Infinity))')


def is_variant(kind: pa.DataType) -> bool:
    """Whether an Arrow type is that of a VARIANT; `metadata` of a user's own struct could be null."""
    return (
        pa.types.is_struct(kind)
        and [field.name for field in kind] == ["metadata", "value"]
        and not kind.field("metadata").nullable
    )


def variant_texts(array: pa.Array) -> pa.Array:
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
