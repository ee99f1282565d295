"""The table that a fresh column belongs to, and where what is remembered of it is kept."""

from __future__ import annotations

from typing import NamedTuple

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from relserve.errors import UsageError
from relserve.linking.schema import quoted

SCHEMA = "relserve"  # in the database of the table
COLUMNS = "fresh_columns"

_TABLES = """
SELECT database_name, schema_name, table_name, temporary, type, readonly
FROM system.main.duckdb_tables() JOIN system.main.duckdb_databases() USING (database_name)
WHERE system.main.lower(table_name) = system.main.lower($1)
  AND system.main.lower(schema_name) = system.main.lower(coalesce($2, system.main.current_schema()))
  AND system.main.lower(database_name) = system.main.lower(coalesce($3, system.main.current_database()))
"""
_COLUMNS = """
SELECT column_name, data_type FROM system.main.duckdb_columns()
WHERE database_name = $1 AND schema_name = $2 AND table_name = $3 ORDER BY column_index
"""


class OwnTable(NamedTuple):
    """A table of a DuckDB database.

    Attributes:
        columns: their types by their names, in order.
    """

    database: str
    schema: str
    name: str
    columns: dict[str, str]

    @property
    def sql(self) -> str:
        """Its whole name as SQL takes it."""
        return whole_name(self.database, self.schema, self.name)

    def find_column(self, name: str) -> str | None:
        """A column as the table spells it; None: it has none of this name."""
        return next((each for each in self.columns if each.lower() == name.lower()), None)

    def answers(self, column: str) -> str:
        """The whole name of the table that holds a column's answers by the hash of their inputs."""
        return whole_name(self.database, SCHEMA, self.answers_name(column))

    def answers_name(self, column: str) -> str:
        return ".".join(map(_told_apart, (self.schema, self.name, column))).lower()

    @property
    def memory(self) -> str:
        """The whole name of the table that says how each column is made."""
        return whole_name(self.database, SCHEMA, COLUMNS)


def _told_apart(name: str) -> str:
    """A name that stands between dots: a.b."c.d" is none of a."b.c".d."""
    return quoted(name) if "." in name or '"' in name else name


def whole_name(*parts: str) -> str:
    return ".".join(map(quoted, parts))


def find_table(con: duckdb.DuckDBPyConnection, written: str) -> OwnTable:
    """The table of a name such as tickets, main.tickets or shop.main."My tickets".

    Raises:
        UsageError: there is none, or it goes with the connection.
    """
    try:
        table = exp.to_table(written, dialect="duckdb")
    except SqlglotError as error:
        raise UsageError(f"{written!r} is no table's name: {error}") from error
    catalog, schema, name = table.catalog or None, table.db or None, table.name
    for place in ((schema, catalog), ("main", schema)):  # `a.b` may be a schema's table or a database's
        if found := con.execute(_TABLES, [name, *place]).fetchall():
            break
    else:
        raise UsageError(f"there is no table {written}; a view or a file has to become one: CREATE TABLE ..")
    database, schema, name, is_temporary, kind, is_read_only = found[0]
    if is_temporary:
        raise UsageError(
            f"{written} is a temporary table, which goes with its connection: make it a lasting one"
        )
    if kind != "duckdb" or is_read_only:
        why = "open for reading only" if kind == "duckdb" else f"of {kind}"
        raise UsageError(f"{written} is in a database {why}: its columns cannot be kept there")
    return OwnTable(database, schema, name, dict(con.execute(_COLUMNS, [database, schema, name]).fetchall()))
