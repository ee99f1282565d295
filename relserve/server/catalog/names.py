"""The names that the attached catalog answers to."""

from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from relserve.server.catalog.build import DATABASE

_USERS_OWN = """
SELECT system.main.lower(table_name) FROM system.main.duckdb_tables()
    WHERE NOT internal AND system.main.list_contains($1, system.main.lower(table_name))
UNION ALL SELECT system.main.lower(view_name) FROM system.main.duckdb_views()
    WHERE NOT internal AND database_name <> $2
        AND system.main.list_contains($1, system.main.lower(view_name))
"""


class CatalogNames(NamedTuple):
    """Relations of pg_catalog with oids, of information_schema, functions and settings, in small letters."""

    oids: Mapping[str, int]
    standard: frozenset[str]
    functions: frozenset[str]
    settings: Mapping[str, str]
    written: tuple[str, ...]

    @property
    def catalog(self) -> frozenset[str]:
        """The names of pg_catalog's relations."""
        return frozenset(self.oids)


def read_names(con: duckdb.DuckDBPyConnection) -> CatalogNames:
    """What `_pg` holds; settings also in the letters that PostgreSQL writes them in."""
    relations = con.execute("SELECT schema_name, name, oid FROM _pg.own.catalog_relations").fetchall()
    functions = con.execute(
        "SELECT function_name FROM system.main.duckdb_functions() "
        "WHERE database_name = ? AND schema_name = 'cat'",
        [DATABASE],
    ).fetchall()
    settings = con.execute("SELECT name, setting FROM _pg.own.settings").fetchall()
    return CatalogNames(
        {name: oid for schema, name, oid in relations if schema == "pg_catalog"},
        frozenset(name for schema, name, _ in relations if schema == "information_schema"),
        frozenset(name for (name,) in functions),
        {name.lower(): value for name, value in settings},
        tuple(name for name, _ in settings),
    )


def users_own(con: duckdb.DuckDBPyConnection, names: frozenset[str]) -> frozenset[str]:
    """Those of some names that a table or a view of the users' has; from any thread."""
    with con.cursor() as own:  # two threads on one would wait for each other, or be refused
        rows = own.execute(_USERS_OWN, [sorted(names), DATABASE]).fetchall()
    return frozenset(name for (name,) in rows)
