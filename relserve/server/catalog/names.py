"""The names that the attached catalog answers to."""

from typing import NamedTuple

import duckdb

from relserve.server.catalog.build import DATABASE


class Names(NamedTuple):
    """Relations of pg_catalog, relations of information_schema, and functions, all in small letters."""

    catalog: frozenset[str]
    standard: frozenset[str]
    functions: frozenset[str]


def read_names(con: duckdb.DuckDBPyConnection) -> Names:
    """What `_pg` holds."""
    return Names(_relations(con, "cat"), _relations(con, "info"), _functions(con))


def users_own(con: duckdb.DuckDBPyConnection, names: frozenset[str]) -> frozenset[str]:
    """Those of some names that a table or a view of the users' has."""
    rows = con.execute(
        "SELECT lower(table_name) FROM duckdb_tables() "
        "WHERE NOT internal AND list_contains($1, lower(table_name)) "
        "UNION ALL SELECT lower(view_name) FROM duckdb_views() "
        "WHERE NOT internal AND database_name <> $2 AND list_contains($1, lower(view_name))",
        [sorted(names), DATABASE],
    )
    return frozenset(name for (name,) in rows.fetchall())


def _relations(con: duckdb.DuckDBPyConnection, schema: str) -> frozenset[str]:
    rows = con.execute(
        "SELECT view_name FROM duckdb_views() WHERE database_name = ? AND schema_name = ?",
        [DATABASE, schema],
    )
    return frozenset(name for (name,) in rows.fetchall())


def _functions(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    rows = con.execute(
        "SELECT function_name FROM duckdb_functions() WHERE database_name = ? AND schema_name = 'cat'",
        [DATABASE],
    )
    return frozenset(name for (name,) in rows.fetchall())
