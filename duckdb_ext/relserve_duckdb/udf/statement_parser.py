"""A text of the caller's, parsed on their connection: for whoever runs it and for whoever explains it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from relserve_duckdb.text.calls import by_name, check_call, has_no_column
from relserve_duckdb.text.statements import Statement, split
from relserve_duckdb.udf.connection_state import ConnectionState


def parse(
    raw: duckdb.DuckDBPyConnection, state: ConnectionState, query: Any, parameters: Any = None
) -> list[Statement]:
    """The statements of a text, their calls checked; raises as `parse_checked` does.

    The models that it names are the caller's own from now on, and what runs in its statements' place is
    noted for errors that quote it.
    """
    state.session.model_hosts.note(getattr(query, "query", query), parameters)
    statements = parse_checked(raw, query, parameters, state.client.warn_of_constant)
    if stand_ins := [each.stand_in for each in statements if each.stand_in is not None]:
        state.stand_ins = stand_ins
    return statements


def parse_checked(
    con: duckdb.DuckDBPyConnection, query: Any, parameters: Any, warn_of_constant: Callable[[str], None]
) -> list[Statement]:
    """The statements of a text, their calls checked.

    Args:
        parameters: belong to the last statement.
        warn_of_constant: called with the function of each call that has no column.

    Raises:
        duckdb.ParserException: as DuckDB does.
        UsageError: a call is wrong.
    """
    statements = split(con, query)
    for statement in statements:
        for call in statement.calls:
            check_call(call, by_name(parameters) if statement is statements[-1] else {})
            if has_no_column(call):
                warn_of_constant(call.function)
    return statements
