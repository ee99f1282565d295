"""What is remembered of fresh columns: two tables in a schema `relserve` of the table's own database.

`fresh_columns` says how each column is made. Beside it each column has a table of answers by the hash of
their inputs, so a row that has changed never shows the answer of its former inputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from relserve.linking.schema import quoted
from relserve_duckdb.fresh.tables import COLUMNS, SCHEMA, OwnTable, whole_name

_KEY = "table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR"
_REST = (
    "expression VARCHAR, inputs VARCHAR[], type VARCHAR, macros VARCHAR, models MAP(VARCHAR, VARCHAR), "
    "refreshed TIMESTAMP"
)
_FIND = """
SELECT expression, inputs, type, macros, models::JSON::VARCHAR FROM {}
WHERE table_schema = $1 AND table_name = $2 AND system.main.lower(column_name) = system.main.lower($3)
"""
_WITH_ZONE = "TIMESTAMP WITH TIME ZONE"  # whose text hangs on the connection's zone


class RememberedColumn(NamedTuple):
    """How a column was made when it was refreshed last.

    Attributes:
        inputs: the columns that its expression reads.
        type: DuckDB's, of its answers.
        macros: definitions of the macros that the expression calls, and of those that they call; "" for none.
        models: their fingerprints by their names; "": unknown.
    """

    expression: str
    inputs: tuple[str, ...]
    type: str
    macros: str
    models: Mapping[str, str]


def hash_of(table: OwnTable, inputs: Sequence[str]) -> str:
    """The SQL of a row's hash: 128 bits over the texts of its inputs, in which NULL is no text."""
    texts = (
        f"system.main.epoch_us({name})::VARCHAR" if table.columns[each] == _WITH_ZONE else f"{name}::VARCHAR"
        for each in inputs
        for name in [quoted(each)]
    )
    return f"system.main.md5_number(system.main.to_json(system.main.list_value({', '.join(texts)}))::VARCHAR)"


def find_column(con: duckdb.DuckDBPyConnection, table: OwnTable, column: str) -> RememberedColumn | None:
    """What is remembered of a column; None: nothing."""
    key = [table.schema, table.name, column]
    if not {COLUMNS, table.answers_name(column)} <= _tables(con, table):
        return None
    found = con.execute(_FIND.format(table.memory), key).fetchone()
    if found is None:
        return None
    expression, inputs, kind, macros, models = found
    return RememberedColumn(expression, tuple(inputs), kind, macros, json.loads(models))


def names_of(con: duckdb.DuckDBPyConnection, table: OwnTable) -> list[str]:
    """The columns of a table of which something is remembered."""
    if COLUMNS not in _tables(con, table):
        return []
    query = f"SELECT column_name FROM {table.memory} WHERE table_schema = $1 AND table_name = $2 ORDER BY ALL"
    return [name for (name,) in con.execute(query, [table.schema, table.name]).fetchall()]


def _tables(con: duckdb.DuckDBPyConnection, table: OwnTable) -> set[str]:
    """The tables that there are, by DuckDB's list: an error would end a transaction of the caller's."""
    query = "SELECT table_name FROM system.main.duckdb_tables() WHERE database_name = $1 AND schema_name = $2"
    return {name for (name,) in con.execute(query, [table.database, SCHEMA]).fetchall()}


def make_memory(con: duckdb.DuckDBPyConnection, table: OwnTable, column: str, kind: str, empty: bool) -> None:
    """Make the tables that are not there yet.

    Args:
        kind: the type of the column's answers.
        empty: let the answers begin anew.
    """
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {whole_name(table.database, SCHEMA)}")
    con.execute(f"CREATE TABLE IF NOT EXISTS {table.memory} ({_KEY}, {_REST})")
    create = "CREATE OR REPLACE TABLE" if empty else "CREATE TABLE IF NOT EXISTS"
    con.execute(f"{create} {table.answers(column)} (inputs UHUGEINT, answer {kind})")


def remember(con: duckdb.DuckDBPyConnection, table: OwnTable, column: str, made: RememberedColumn) -> None:
    """Note how a column is made."""
    key: list[Any] = [table.schema, table.name, column]
    where = "table_schema = $1 AND table_name = $2 AND system.main.lower(column_name) = system.main.lower($3)"
    con.execute(f"DELETE FROM {table.memory} WHERE {where}", key)
    values = [made.expression, list(made.inputs), made.type, made.macros, dict(made.models)]
    marks = ", ".join(["?"] * 8)
    con.execute(f"INSERT INTO {table.memory} VALUES ({marks}, system.main.now()::TIMESTAMP)", [*key, *values])
