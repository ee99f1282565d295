"""What a database has that no plain user may have defined: names that all have, and what asks for others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import duckdb

from relserve.server.users.refused import SESSION

TABLES = """
CREATE TABLE t (a INT, b VARCHAR); INSERT INTO t VALUES (1, 'x'), (2, 'y'); CREATE TABLE u (a INT);
CREATE VIEW v AS FROM t; CREATE MACRO asked() AS current_query(); CREATE MACRO twice(x) AS 2 * x
"""
# Of what is made in the database `shop`; `TABLES` are there.
DEFINED = """
SELECT 'FUNCTION', function_name, macro_definition FROM system.main.duckdb_functions()
    WHERE database_name = 'shop' AND function_name NOT IN ('asked', 'twice')
UNION ALL SELECT 'VIEW', view_name, sql FROM system.main.duckdb_views() WHERE database_name = 'shop'
UNION ALL SELECT 'TABLE', table_name, sql FROM system.main.duckdb_tables() WHERE database_name = 'shop'
UNION ALL SELECT 'TYPE', type_name, NULL FROM system.main.duckdb_types()
    WHERE database_name = 'shop' AND NOT internal
UNION ALL SELECT 'SCHEMA', schema_name, NULL FROM system.main.duckdb_schemas() WHERE database_name = 'shop'
UNION ALL SELECT 'INDEX', '', sql FROM system.main.duckdb_indexes() WHERE database_name = 'shop'
"""
_ASKS = re.compile(rf"\b({'|'.join(sorted(SESSION))}|asked)\b[`\"]?\s*\(", re.I)
_MODELS = re.compile(r"\b(llm\w*|text2sql\w*|twice|own)\b[`\"]?\s*\(", re.I)
_WITH_COLUMNS = ("TABLE", "INDEX")


class Wrong(NamedTuple):
    """Something that is there and must not be.

    Attributes:
        name: of the thing, if it has one.
        said: what is wrong with it.
    """

    name: str
    said: str


def wrong_ones(
    rows: Iterable[tuple[str, str, str | None]], taken: Mapping[str, frozenset[str]]
) -> Iterator[Wrong]:
    """What of the rows of `DEFINED` no plain user may have made, by the names that `taken` gives."""
    for kind, name, text in rows:
        if name.lower() in taken.get(kind, ()):
            yield Wrong(name, f"{kind} {name}")
        if text and _ASKS.search(text):
            yield Wrong(name, f"{kind} that asks a session")
        if text and kind in _WITH_COLUMNS and _MODELS.search(text):
            yield Wrong(name, f"{kind} that asks a model, or a macro")


def taken(con: duckdb.DuckDBPyConnection) -> dict[str, frozenset[str]]:
    """Names that all have, by what they are."""
    views = "SELECT view_name FROM duckdb_views() WHERE schema_name <> 'information_schema'"
    return {
        "FUNCTION": _lower(con, "SELECT function_name FROM duckdb_functions()") | {"llm"},
        "INDEX": frozenset(), "VIEW": _lower(con, views), "TABLE": _lower(con, views),
        "TYPE": _lower(con, "SELECT type_name FROM duckdb_types()"),
        "SCHEMA": frozenset(["system", "temp", "pg_catalog", "information_schema"]),
    }  # fmt: skip


def _lower(con: duckdb.DuckDBPyConnection, asked: str) -> frozenset[str]:
    return frozenset(str(name).lower() for (name,) in con.execute(asked).fetchall())
