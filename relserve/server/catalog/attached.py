"""The file of `_pg`: built once a process, and attached to every database that is served."""

import tempfile
import threading
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa

from relserve.server.catalog.activity import register_activity, register_prepared, register_signal
from relserve.server.catalog.build import DATABASE, build
from relserve.server.catalog.names import CatalogNames, read_names

_building = threading.Lock()


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
        return read_names(con)


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
