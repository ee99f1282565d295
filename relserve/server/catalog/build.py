"""The attached database `_pg`: PostgreSQL's catalog as views and macros over a connection's current database.

Schema `own` holds helpers and tables of constants; `rows` and `info_rows` what is known of each relation of
pg_catalog and of information_schema; `cat` and `info` those relations in PostgreSQL 15's own columns, and `cat`
its functions. A column that is not known is NULL, or the zero of its type where PostgreSQL's is never NULL; a
relation of which nothing is known has no rows.
"""

import csv
from importlib.resources import files
from typing import NamedTuple

import duckdb

DATABASE = "_pg"
PARTS = ("names", "oids", "types", "keys", "relations", "lookups", "functions", "server", "standard")
SCHEMAS = ("own", "rows", "info_rows", "cat", "info")
_ROOM = files("relserve.server.catalog")
_NUMBERS = {"oid", "typlen", "typelem", "typarray", "typcollation"}
_FLAGS = {"typbyval", "typispreferred"}
_ZEROS = {"BOOLEAN": "false", "VARCHAR": "''"}


class Shape(NamedTuple):
    """A relation of PostgreSQL's; of each column its name, DuckDB's type, and whether it is never NULL."""

    schema: str
    name: str
    columns: tuple[tuple[str, str, bool], ...]


def read_shapes() -> tuple[Shape, ...]:
    """Every relation of PostgreSQL 15's two catalogs."""
    rows = csv.DictReader(_ROOM.joinpath("data/shapes.csv").read_text("utf-8").splitlines())
    return tuple(Shape(row["schema"], row["relation"], _columns(row["columns"])) for row in rows)


def build(con: duckdb.DuckDBPyConnection) -> None:
    """Attach `_pg` to the connection's instance and fill it."""
    con.execute(f"ATTACH ':memory:' AS {DATABASE}")
    within = con.cursor()
    within.execute(f"USE {DATABASE}")
    for schema in SCHEMAS:
        within.execute(f"CREATE SCHEMA {schema}")
    within.execute(f"CREATE TABLE own.builtin_types AS {_types()}")
    for part in PARTS:
        within.execute(_ROOM.joinpath(f"sql/{part}.sql").read_text("utf-8"))
    for shape in read_shapes():
        within.execute(_view(shape, _known(within, shape)))
    within.close()


def _columns(text: str) -> tuple[tuple[str, str, bool], ...]:
    words = [column.split(" ", 2) for column in text.replace("(38,0)", "").split(", ")]
    return tuple((name, rest[0], bool(rest[1:])) for name, *rest in words)


def _types() -> str:
    """The query that gives PostgreSQL's own types."""
    rows = csv.DictReader(_ROOM.joinpath("data/types.csv").read_text("utf-8").splitlines())
    written = ["(" + ", ".join(_constant(name, value) for name, value in row.items()) + ")" for row in rows]
    return f"SELECT * FROM (VALUES {', '.join(written)}) types ({', '.join(rows.fieldnames or ())})"


def _constant(name: str, value: str) -> str:
    if name in _NUMBERS:
        return value
    return f"'{value}'::BOOLEAN" if name in _FLAGS else f"'{value}'"


def _known(con: duckdb.DuckDBPyConnection, shape: Shape) -> set[str]:
    """The columns that `rows` or `info_rows` has of a relation."""
    found = con.execute(
        "SELECT column_name FROM duckdb_columns() "
        "WHERE database_name = ? AND schema_name = ? AND table_name = ?",
        [DATABASE, _rows(shape), shape.name],
    )
    return {name for (name,) in found.fetchall()}


def _rows(shape: Shape) -> str:
    return "rows" if shape.schema == "pg_catalog" else "info_rows"


def _view(shape: Shape, known: set[str]) -> str:
    """The statement that makes a relation in PostgreSQL's columns."""
    schema = "cat" if shape.schema == "pg_catalog" else "info"
    columns = ", ".join(_column(*column, known) for column in shape.columns)
    rows = f'FROM {_rows(shape)}."{shape.name}"' if known else "WHERE false"
    return f'CREATE VIEW {schema}."{shape.name}" AS SELECT {columns} {rows}'


def _column(name: str, kind: str, never_null: bool, known: set[str]) -> str:
    value = f'"{name}"' if name in known else _zero(kind) if never_null else "NULL"
    return f'{value}::{kind} AS "{name}"'


def _zero(kind: str) -> str:
    return "[]" if kind.endswith("[]") else _ZEROS.get(kind, "0")
