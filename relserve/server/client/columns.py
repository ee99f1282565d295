"""DuckDB's columns and parameters in PostgreSQL's types."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.server.catalog.build import DATABASE
from relserve.server.wire.types import OID, TEXT, Column, PgType, pg_type

_OIDS = PgType(1028, -1, OID)  # _oid


def columns_of(described: Sequence[tuple[str, str]], runnable: str) -> list[Column]:
    """The columns of a statement.

    Args:
        described: name and DuckDB's type of each.
        runnable: what DuckDB runs.
    """
    return [Column(name, _type(kind, runnable)) for name, kind in described]


def oids_of(parameters: Sequence[str | None], runnable: str) -> list[int]:
    """The types of its parameters; text where nothing tells."""
    return [_type(kind, runnable).oid if kind else TEXT for kind in parameters]


def _type(kind: str, runnable: str) -> PgType:
    """In texts over PostgreSQL's catalog lists of numbers are OIDs: asyncpg looks up any other type."""
    return _OIDS if kind == "BIGINT[]" and f"{DATABASE}." in runnable else pg_type(kind)
