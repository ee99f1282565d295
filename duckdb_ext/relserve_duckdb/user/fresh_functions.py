"""Columns that an llm expression fills, and that stay fresh: `CALL llm_materialize(..)` as functions."""

from __future__ import annotations

from typing import Any, NamedTuple

from relserve.errors import UsageError
from relserve_duckdb.user.connection import Connection


class Refreshed(NamedTuple):
    """What making or refreshing a column did.

    Attributes:
        rows: of the table.
        new_inputs: distinct inputs that had no answer.
        updated_rows: rows in which the column's value is another now.
        dropped_inputs: answers that were forgotten, for no row has their inputs any more.
        asked: prompts that went to a model.
        cached_answers: prompts that the answer cache answered.
        failed_rows: rows whose prompt failed; the next refresh asks it again.
        cost: US dollars; None: unknown.
    """

    table_name: str
    column_name: str
    rows: int
    new_inputs: int
    updated_rows: int
    dropped_inputs: int
    asked: int
    cached_answers: int
    failed_rows: int
    cost: float | None


def materialize(
    con: Connection, table: str, column: str, expression: str, *, on_change: str = "raise"
) -> Refreshed:
    """Make a column of a table from an SQL expression, and remember how, so that `refresh` keeps it fresh.

    If the column is there already and was made so, only inputs without an answer are asked.

    Args:
        table: its name as SQL takes it, such as tickets or shop.main."My tickets".
        expression: over the table's other columns, as it would stand in a SELECT list.
        on_change: what to do where the expression or the model is another than before: 'raise' an error that
            tells what asking all rows again would take; 'ask' them; 'keep' the answers that there are.

    Raises:
        UsageError: the table or the expression is wrong, or has changed.
        RelserveError, duckdb.Error: as a SELECT with the expression would; the table is as before then.
    """
    values = {"table": table, "column": column, "expression": expression, "on_change": on_change}
    return _called(con, "llm_materialize($table, $column, $expression, on_change := $on_change)", values)


def refresh(con: Connection, table: str, column: str, *, on_change: str = "raise") -> Refreshed:
    """Ask new and changed rows of a column that `materialize` has made, and those that failed.

    Args and Raises: as `materialize`.
    """
    values = {"table": table, "column": column, "on_change": on_change}
    return _called(con, "llm_refresh($table, $column, on_change := $on_change)", values)


def _called(con: Connection, call: str, values: dict[str, Any]) -> Refreshed:
    if not isinstance(con, Connection):
        raise UsageError(
            f"give a connection of relserve.connect() or relserve.attach(), not {type(con).__name__}"
        )
    (row,) = con.execute(f"CALL {call}", values).fetchall()
    return Refreshed(*row)
