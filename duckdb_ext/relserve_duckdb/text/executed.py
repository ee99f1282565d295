"""EXECUTE of a prepared statement, read as that statement and its values."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import duckdb

from relserve_duckdb.text.lexical import BLANKS, LEAD, NAME, STRING
from relserve_duckdb.text.statements import Statement, split

PREPARED = (
    "SELECT statement FROM system.main.duckdb_prepared_statements() "
    "WHERE system.main.lower(name) = system.main.lower($1)"
)
_PLAIN = rf"(?:{STRING}|[-+]?[\w.]++|:=|::|[,\s]++)*+"  # no call: it might ask, or count a sequence
_EXECUTE = re.compile(LEAD + rf"execute\s++({NAME}|[^\s(;\"]++){BLANKS}(?:\(({_PLAIN})\)|(\()|)")
_NAMED = re.compile(r"\s*+\w++\s*+:=")


def prepared_name(text: str) -> str | None:
    """The name of the prepared statement that a text executes; None: it executes none."""
    match = _EXECUTE.match(text)
    if match is None:
        return None
    name = match[1]
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def executed(con: duckdb.DuckDBPyConnection, text: str) -> tuple[Statement, Any] | None:
    """The statement that an EXECUTE runs, and its values as parameters of that.

    None where the text is no EXECUTE of a statement on this connection, or has values that are no constants.

    Raises:
        duckdb.Error: a value cannot be what its cast says; an unread result is open.
    """
    match, name = _EXECUTE.match(text), prepared_name(text)
    if match is None or match[3]:
        return None
    rows = con.sql(PREPARED, params=[name]).fetchall()
    if len(rows) != 1:
        return None
    statements = split(con, rows[0][0])
    if len(statements) != 1 or statements[0].questions:
        return None
    # DuckDB may plan it otherwise, and give rows in another order: no prompt of a filter may be skipped
    return replace(statements[0], is_verbatim=False), _values_of(con, match[2] or "")


def _values_of(con: duckdb.DuckDBPyConnection, given: str) -> Any:
    """Constants, as parameters by their places or by their names."""
    if not given.strip():
        return None
    if _NAMED.match(given):
        ((values,),) = con.sql(f"SELECT system.main.struct_pack({given})").fetchall()
        return values
    return list(con.sql(f"SELECT {given}").fetchall()[0])
