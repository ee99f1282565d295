"""Who is right: judged by execution on databases; accuracy of a checkpoint by shape of question."""

import re
from collections.abc import Sequence
from typing import Any

import duckdb

_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)
_DIGITS = 6  # to which numbers are compared


def comparable(rows: Sequence[Sequence[Any]], ordered: bool) -> list[tuple[str, ...]]:
    """Rows as texts, equal where results are: columns in any order, rows too unless an order was asked."""
    found = [tuple(sorted(_text(value) for value in row)) for row in rows]
    return found if ordered else sorted(found)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    try:
        return f"{round(float(value), _DIGITS):.{_DIGITS}f}" if not isinstance(value, str) else value
    except (TypeError, ValueError):
        return str(value)


def is_right(sql: str | None, gold: str, databases: Sequence[duckdb.DuckDBPyConnection]) -> bool:
    """Whether a query gives what the gold one gives on every database, and that is not empty on any."""
    return sql is not None and all(_agrees(sql, gold, con) for con in databases)


def _agrees(sql: str, gold: str, con: duckdb.DuckDBPyConnection) -> bool:
    expected = con.execute(gold).fetchall()
    if not expected:
        return False
    if sql == gold:
        return True
    try:
        got = con.execute(sql).fetchall()
    except duckdb.Error:
        return False
    ordered = _ORDERED.search(gold) is not None
    return comparable(got, ordered) == comparable(expected, ordered)
