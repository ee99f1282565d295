"""The file of `_pg`: built once a process, and attached to every database that is served; its names."""

import tempfile
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from relserve.server.catalog.activity import register_activity, register_prepared, register_signal
from relserve.server.catalog.build import DATABASE, build

_building = threading.Lock()
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


def attach_catalog(con: duckdb.DuckDBPyConnection) -> None:
    """Attach `_pg`, which nothing can change, to the instance; it must still be allowed to read files."""
    with _building:
        image = _image()
    # DuckDB has the file open from then on. Without a name it goes with the process, even one that is killed.
    with tempfile.TemporaryDirectory(prefix="relserve-catalog-") as folder:
        path = _path(folder)
        path.write_bytes(image)
        con.execute(f"ATTACH '{path}' AS {DATABASE} (READ_ONLY)")


@lru_cache(maxsize=1)
def catalog_names() -> CatalogNames:
    """The names in the file, read once a process: finding its functions among DuckDB's takes a while."""
    with duckdb.connect() as con:
        attach_catalog(con)
        return _read_names(con)


@lru_cache(maxsize=1)
def _image() -> bytes:
    """What the file holds."""
    with tempfile.TemporaryDirectory(prefix="relserve-catalog-") as folder:
        with duckdb.connect() as con:
            register_activity(con, lambda: pa.table({}))  # DuckDB binds a macro when it is made
            register_signal(con, lambda connection, pid, how: False)
            register_prepared(con, lambda connection: [])
            build(con, _path(folder))
        return _path(folder).read_bytes()


def _path(folder: str) -> Path:
    return Path(folder) / "catalog.duckdb"


def _read_names(con: duckdb.DuckDBPyConnection) -> CatalogNames:
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
