"""A statement as DuckDB prepares it: its columns and parameters; it does not run."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import duckdb

from relserve_duckdb.describe.native import connection_of, library
from relserve_duckdb.describe.native_types import taken_text, taken_type
from relserve_duckdb.text.duckdb_errors import error_of
from relserve_duckdb.udf.client import Variables


class BoundStatement(NamedTuple):
    """What DuckDB's bind tells.

    Attributes:
        columns: name and type of each; None: that takes types, or values, of its parameters.
        parameters: types by the names of the parameters, `1` for $1 and the first ?; None: not told.
    """

    columns: tuple[tuple[str, str], ...] | None
    parameters: dict[str, str | None]


def prepare(con: duckdb.DuckDBPyConnection, variables: Variables, text: str) -> BoundStatement:
    """Prepare one statement on a connection.

    Raises:
        duckdb.Error: it is wrong, or several, or an unread result is open.
    """
    c, statement = library(), ctypes.c_void_p()
    try:
        # called by no frame of ours, so that DuckDB looks for DataFrames among the caller's variables
        if variables.call(c.duckdb_prepare, connection_of(con), text.encode(), ctypes.byref(statement)):
            message = (c.duckdb_prepare_error(statement) or b"").decode()
            raise error_of(message) or duckdb.Error(message)
        return BoundStatement(_columns(statement), _types(statement))
    finally:
        c.duckdb_destroy_prepare(ctypes.byref(statement))


def _columns(statement: ctypes.c_void_p) -> tuple[tuple[str, str], ...] | None:
    c, found = library(), []
    for i in range(c.duckdb_prepared_statement_column_count(statement)):
        kind = taken_type(c.duckdb_prepared_statement_column_logical_type(statement, i))
        name = taken_text(c.duckdb_prepared_statement_column_name(statement, i))
        if kind is None:
            return None
        found.append((name, kind))
    return tuple(found)


def _types(statement: ctypes.c_void_p) -> dict[str, str | None]:
    c = library()
    numbers = range(1, c.duckdb_nparams(statement) + 1)
    found = {taken_text(c.duckdb_parameter_name(statement, i)): _type(statement, i) for i in numbers}
    return {name: kind for name, kind in found.items() if name}  # a number that the text leaves out has none


def _type(statement: ctypes.c_void_p, i: int) -> str | None:
    handle = library().duckdb_param_logical_type(statement, i)
    return taken_type(handle) if handle else None
