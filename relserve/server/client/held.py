"""What clients keep in the memory that all share, of which DuckDB counts nothing: it has limits here."""

from __future__ import annotations

import duckdb

from relserve.errors import ProtocolError
from relserve.server.catalog.build import DATABASE
from relserve.server.client.channel import SessionEnds

MOST_HELD = 1 << 26  # bytes of what a session keeps in memory beside its temporary tables
MOST_DEFINED = 1 << 26  # bytes of all that is defined in the database
LONG_DEFINITION = 10_000  # characters
_HELD = """
SELECT system.main.sum(size) FROM (
    SELECT system.main.strlen(value) AS size FROM system.main.duckdb_variables()
    UNION ALL SELECT system.main.strlen(statement) FROM system.main.duckdb_prepared_statements()
)
"""
DEFINED = f"""
SELECT system.main.sum(system.main.strlen(system.main.concat(text, comment))) FROM (
    SELECT database_name, sql AS text, comment FROM system.main.duckdb_tables()
    UNION ALL SELECT database_name, sql, comment FROM system.main.duckdb_views() WHERE NOT internal
    UNION ALL SELECT database_name, '', comment FROM system.main.duckdb_columns() WHERE NOT internal
    UNION ALL SELECT database_name, macro_definition, comment FROM system.main.duckdb_functions()
        WHERE NOT internal
    UNION ALL SELECT database_name, labels::TEXT, comment FROM system.main.duckdb_types() WHERE NOT internal
) WHERE database_name <> '{DATABASE}'
"""


class HoldsTooMuch(SessionEnds):
    """A client's session takes too much of the memory that all share."""

    sqlstate = "53400"


def check_held(con: duckdb.DuckDBPyConnection) -> None:
    """End a session whose variables and prepared statements take too much.

    Raises:
        HoldsTooMuch: they do.
    """
    held = con.execute(_HELD).fetchall()[0][0]
    if held is not None and held > MOST_HELD:
        raise HoldsTooMuch(
            f"the variables and prepared statements of this connection have more than {MOST_HELD >> 20} "
            "MiB: keep rows in a temporary table"
        )


def check_defined(con: duckdb.DuckDBPyConnection) -> None:
    """Refuse the definition with which all of them take too much; its transaction is to be undone.

    Raises:
        ProtocolError: they do.
    """
    defined = con.execute(DEFINED).fetchall()[0][0]
    if defined is not None and defined > MOST_DEFINED:
        raise ProtocolError(
            "with this, the views, macros, types, comments and their like of this database would have more "
            f"than {MOST_DEFINED >> 20} MiB: keep values in a table, or drop some definitions",
            "53400",
        )
