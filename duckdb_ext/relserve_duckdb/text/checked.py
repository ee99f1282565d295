"""A user's text as statements whose llm calls were checked, before anything of it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from relserve_duckdb.text.calls import by_name, check_call, has_no_column
from relserve_duckdb.text.statements import Statement, split


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
