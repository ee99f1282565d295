"""DuckDB's columns and parameters in PostgreSQL's types."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.server.catalog.build import DATABASE
from relserve.server.wire.types import INT2VECTOR, OID, OIDVECTOR, TEXT, PgType, ResultColumn, pg_type

_OIDS = PgType(1028, -1, OID)  # _oid
_VECTORS = {
    "indkey": INT2VECTOR, "indoption": INT2VECTOR, "indclass": OIDVECTOR, "indcollation": OIDVECTOR,
    "proargtypes": OIDVECTOR,
}  # fmt: skip


def columns_of(described: Sequence[tuple[str, str]], runnable: str) -> list[ResultColumn]:
    """The columns of a statement.

    Args:
        described: name and DuckDB's type of each.
        runnable: what DuckDB runs.
    """
    return [
        ResultColumn(name, _vector(name, kind, runnable) or _type(kind, runnable)) for name, kind in described
    ]


def oids_of(parameters: Sequence[str | None], runnable: str) -> list[int]:
    """The types of its parameters; text where nothing tells."""
    return [_type(kind, runnable).oid if kind else TEXT for kind in parameters]


def _vector(name: str, kind: str, runnable: str) -> PgType | None:
    """A vector of the catalog is text already, but drivers that know its type make a list of it."""
    is_vector = kind == "VARCHAR" and name in _VECTORS and f"{DATABASE}." in runnable
    return PgType(_VECTORS[name]) if is_vector else None


def _type(kind: str, runnable: str) -> PgType:
    """In texts over PostgreSQL's catalog lists of numbers are OIDs: asyncpg looks up any other type."""
    return _OIDS if kind == "BIGINT[]" and f"{DATABASE}." in runnable else pg_type(kind)
