"""The attached database `_pg`: PostgreSQL's catalog as views and macros over a connection's current database.

Schema `own` holds helpers and tables of constants; `rows` and `info_rows` what is known of each relation
of pg_catalog and of information_schema; `cat` and `info` those relations in PostgreSQL 15's own columns,
and `cat` its functions. Relations are table macros, for DuckDB would bind and list the columns of as many
views at every look at its own catalog. A column that is not known is NULL, or the zero of its type where
PostgreSQL's is never NULL; a relation of which nothing is known has no rows. Their functions are DuckDB's
own (`qualified`).
"""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa

from relserve.server.catalog.qualified import qualified
from relserve.server.catalog.shapes import CatalogColumn, CatalogShape, read_rows, read_shapes

DATABASE = "_pg"
_PARTS = (
    "names", "objects", "types", "columns", "keys", "relations", "lookups", "routines", "functions",
    "server", "standard",
)  # fmt: skip
_CONSTANTS = {
    "builtin_types": "types", "type_functions": "type_functions", "opclasses": "opclasses",
    "settings": "settings",
}  # fmt: skip
_SCHEMAS = ("own", "rows", "info_rows", "cat", "info")
_SQL = files("relserve.server.catalog").joinpath("sql")
_KNOWN = "SELECT schema_name, function_name FROM system.main.duckdb_functions() WHERE database_name = ?"
_ZEROS = {"BOOLEAN": "false", "VARCHAR": "''"}


def build(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach a new file as `_pg` and fill it; the functions of `activity` must be there."""
    con.execute(f"ATTACH '{path}' AS {DATABASE}")
    con.execute(f"USE {DATABASE}")
    con.execute("BEGIN")  # or each of hundreds of statements is written to the disk by itself
    for schema in _SCHEMAS:
        con.execute(f"CREATE SCHEMA {schema}")
    shapes = read_shapes()
    _fill_constants(con, shapes)
    con.execute(qualified("\n".join(_SQL.joinpath(f"{part}.sql").read_text("utf-8") for part in _PARTS)))
    _make_views(con, shapes)
    con.execute("COMMIT")
    con.execute(f"CHECKPOINT {DATABASE}")


def _fill_constants(con: duckdb.DuckDBPyConnection, shapes: Iterable[CatalogShape]) -> None:
    """Make the tables of what never changes."""
    for table, rows in _CONSTANTS.items():
        _fill(con, table, read_rows(rows))
    relations = [
        {
            "schema_name": s.schema,
            "oid": str(s.oid),
            "name": s.name,
            "kind": s.kind,
            "size": str(len(s.columns)),
        }
        for s in shapes
    ]
    columns = [
        {
            "relation": str(s.oid),
            "name": c.name,
            "number": str(n),
            "type": c.typname,
            "never_null": str(c.is_never_null),
        }
        for s in shapes
        for n, c in enumerate(s.columns, 1)
    ]
    _fill(con, "catalog_relations", relations)
    _fill(con, "catalog_columns", columns)


def _fill(con: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, str]]) -> None:
    """Make a table of some rows; a column of nothing but numbers is a column of numbers."""
    columns = ", ".join(f"{name}::{_kind([row[name] for row in rows])} AS {name}" for name in rows[0])
    con.register("_rows", pa.Table.from_pylist(rows))
    con.execute(f"CREATE TABLE own.{table} AS SELECT {columns} FROM _rows")
    con.unregister("_rows")


def _kind(values: list[str]) -> str:
    if all(value.lstrip("-").isdigit() for value in values):
        return "BIGINT"
    return "BOOLEAN" if {value.lower() for value in values} <= {"t", "f", "true", "false"} else "VARCHAR"


def _make_views(con: duckdb.DuckDBPyConnection, shapes: Iterable[CatalogShape]) -> None:
    """Make every relation in PostgreSQL's columns."""
    known = set(con.execute(_KNOWN, [DATABASE]).fetchall())
    con.execute(
        "; ".join(_view(shape, _told(con, shape) if _place(shape) in known else set()) for shape in shapes)
    )


def _told(con: duckdb.DuckDBPyConnection, shape: CatalogShape) -> set[str]:
    """The columns that are known of a relation."""
    return {name for name, *_ in con.execute(f"DESCRIBE FROM {_rows(shape)}").fetchall()}


def _place(shape: CatalogShape) -> tuple[str, str]:
    """The schema and the name of what is known of a relation."""
    return "rows" if shape.schema == "pg_catalog" else "info_rows", shape.name


def _rows(shape: CatalogShape) -> str:
    schema, name = _place(shape)
    return f'{DATABASE}.{schema}."{name}"()'


def _view(shape: CatalogShape, told: set[str]) -> str:
    """The statement that makes a relation in PostgreSQL's columns."""
    schema = "cat" if shape.schema == "pg_catalog" else "info"
    columns = ", ".join(_column(column, told) for column in shape.columns)
    source = f"FROM {_rows(shape)}" if told else "WHERE false"
    return f'CREATE MACRO {schema}."{shape.name}"() AS TABLE SELECT {columns} {source}'


def _column(column: CatalogColumn, told: set[str]) -> str:
    kind = column.duckdb_type
    value = f'"{column.name}"' if column.name in told else _zero(kind) if column.is_never_null else "NULL"
    return f'{value}::{kind} AS "{column.name}"'


def _zero(kind: str) -> str:
    return "[]" if kind.endswith("[]") else _ZEROS.get(kind, "0")
