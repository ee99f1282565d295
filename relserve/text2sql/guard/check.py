"""Whether a generated text is one SELECT that reads nothing but allowed tables.

DuckDB's own switches (`enable_external_access`, `lock_configuration`) hold for all connections of a database
at once and cannot be taken back, so they are the user's to set; here every part of the text is looked at.
A READ ONLY transaction alone is not enough: it lets COPY in a WITH write files, and temporary tables.
"""

from __future__ import annotations

import json
from typing import Any

import duckdb
from duckdb import StatementType

from relserve.errors import UnsafeSqlError
from relserve.linking.schema import Schema
from relserve.text2sql.guard.brackets import TooDeepError, UnmatchedError, check_brackets
from relserve.text2sql.guard.functions import DatabaseFunctions, read_functions
from relserve.text2sql.guard.tables import Tables, read_tables
from relserve.text2sql.guard.walk import TableRead, Walk

LONGEST = 20_000  # characters
_TREE = """
    SELECT system.main.json_serialize_sql(
        ?::VARCHAR, skip_null := true, skip_default := true, skip_empty := true
    )
"""


def check_select(con: duckdb.DuckDBPyConnection, sql: str, allowed: Schema | None) -> None:
    """Refuse a text that is not one SELECT over allowed tables, with functions that only compute.

    Args:
        con: where the text would run; its catalog is read, and its open result ends.
        allowed: the tables that it may read; None for all tables and views that users made.

    Raises:
        UnsafeSqlError: says what is not allowed, and what is.
        duckdb.Error: DuckDB cannot read the text.
    """
    checked(con, sql, allowed, read_functions(con))


def check_asking_select(con: duckdb.DuckDBPyConnection, sql: str, functions: frozenset[str]) -> None:
    """As `check_select`, over all tables and views of the connection's database; it may ask a model, too.

    Args:
        functions: names, in lower case, of the functions that ask. Views may call any.
    """
    _only_statement(con, sql)
    tables = read_tables(con, None, may_ask=True).of_current_database()
    _walk(con, sql, tables, read_functions(con)._replace(asking=functions))


def tables_read(con: duckdb.DuckDBPyConnection, sql: str, allowed: Schema | None) -> list[TableRead]:
    """The tables that a SELECT reads, each where its name stands; raises as `check_select`."""
    _only_statement(con, sql)
    return _walked(con, sql, allowed, read_functions(con)).reads


def checked(
    con: duckdb.DuckDBPyConnection, sql: str, allowed: Schema | None, functions: DatabaseFunctions
) -> duckdb.Statement:
    """The one SELECT of a text, looked at with the database's functions known; as `check_select`."""
    statement = _only_statement(con, sql)
    _walked(con, sql, allowed, functions)
    return statement


def _walked(
    con: duckdb.DuckDBPyConnection, sql: str, allowed: Schema | None, functions: DatabaseFunctions
) -> Walk:
    return _walk(con, sql, read_tables(con, allowed), functions)


def _walk(con: duckdb.DuckDBPyConnection, sql: str, tables: Tables, functions: DatabaseFunctions) -> Walk:
    walk = Walk(tables, functions, lambda text: _tree(con, text))
    walk.check(_tree(con, sql))
    return walk


def _only_statement(con: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    if len(sql) > LONGEST:
        raise UnsafeSqlError(f"generated SQL may have {LONGEST:,} characters, and this has {len(sql):,}")
    if "\0" in sql:
        raise UnsafeSqlError("generated SQL may not hold the character NUL, at which programs stop reading")
    try:
        check_brackets(sql)
    except (TooDeepError, UnmatchedError) as error:
        raise UnsafeSqlError(f"generated SQL {error}") from None
    statements = con.extract_statements(sql)
    if len(statements) != 1:
        raise UnsafeSqlError(f"generated SQL is one SELECT, and this text holds {len(statements)} statements")
    if _kind(statements[0]) != StatementType.SELECT:
        raise UnsafeSqlError(f"generated SQL is one SELECT, and this is {_begin(sql)}")
    return statements[0]


def _kind(statement: duckdb.Statement) -> StatementType | None:
    """What a statement is; None where Python has no name for it, as for UPDATE EXTENSIONS."""
    try:
        return statement.type
    except ValueError:
        return None


def _begin(sql: str) -> str:
    words = sql.split(None, 1)
    return words[0].upper()[:30] if words else "empty"


def _tree(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    ((text,),) = con.execute(_TREE, [sql]).fetchall()
    try:
        answer = json.loads(text)
    except RecursionError:
        raise UnsafeSqlError("generated SQL may not be nested so deep") from None
    if answer["error"]:
        raise UnsafeSqlError(f"generated SQL is one plain SELECT: {answer['error_message']}")
    (statement,) = answer["statements"]
    node: dict[str, Any] = statement["node"]
    return node
