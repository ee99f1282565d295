"""Arrow arrays as PostgreSQL's text form of their values, as bytes."""

from __future__ import annotations

import pyarrow as pa

from relserve.server.wire.json_texts import json_texts
from relserve.server.wire.lists import list_text
from relserve.server.wire.scalar_texts import scalar_text
from relserve.server.wire.types import JSON, JSONB, PgType


def as_text(array: pa.Array, kind: PgType) -> pa.Array:
    """The values as text, in UTF-8; null stays null."""
    if kind.element:
        element = PgType(kind.element, kind.typmod)
        return list_text(array, lambda values: as_text(values, element))
    if kind.oid in (JSON, JSONB):
        return json_texts(array)
    return scalar_text(array, kind)
