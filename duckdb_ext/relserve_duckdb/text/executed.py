"""EXECUTE of a prepared statement, read as that statement and its values."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import duckdb

from relserve_duckdb.text.lexical import BARE, BLANKS, LEAD, NAME, STRING
from relserve_duckdb.text.statements import Statement, split

PREPARED = (
    "SELECT statement FROM system.main.duckdb_prepared_statements() "
    "WHERE system.main.lower(name) = system.main.lower($1)"
)
_PLAIN = rf"(?:{STRING}|[-+]?[\w.]++|:=|::|[,\s]++)*+"  # no call: it might ask, or count a sequence
_EXECUTE = re.compile(LEAD + rf"execute{BLANKS}({NAME}|{STRING}|{BARE}(?!')){BLANKS}(?:\(({_PLAIN})\)|(\()|)")
_NAMED = re.compile(r"\s*+\w++\s*+:=")


def prepared_name(text: str) -> str | None:
    """The name of the prepared statement that a text executes; None: it executes none."""
    match = _EXECUTE.match(text)
    if match is None:
        return None
    name = match[1]
    return name[1:-1].replace(2 * name[0], name[0]) if name[0] in "\"'" else name


def executed(con: duckdb.DuckDBPyConnection, text: str) -> tuple[Statement, Any] | None:
    """The statement that an EXECUTE runs, and its values as parameters of that.

    None where the text is no EXECUTE of a statement on this connection, or has values that are no constants
    or would be others in Python, such as a FLOAT or an INTERVAL of months.

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
    given = match[2] or ""
    values = None
    if given.strip() and (values := _values_of(con, given)) is None:
        return None
    # DuckDB may plan it otherwise, and give rows in another order: no prompt of a filter may be skipped
    return replace(statements[0], is_verbatim=False), values


def _values_of(con: duckdb.DuckDBPyConnection, given: str) -> Any:
    """Constants, as parameters by their places or by their names; None where they would be others."""
    if _NAMED.match(given):
        ((values,),) = con.sql(f"SELECT system.main.struct_pack({given})").fetchall()
        as_given, again = f"struct_pack({given})", ", ".join(f"{name} := ${name}" for name in values)
        again = f"struct_pack({again})"
    else:
        values = list(con.sql(f"SELECT {given}").fetchall()[0])
        as_given, again = f"row({given})", f"row({', '.join('?' * len(values))})"
    texts = f"SELECT CAST(system.main.{as_given} AS VARCHAR) = CAST(system.main.{again} AS VARCHAR)"
    return values if con.sql(texts, params=values).fetchall() == [(True,)] else None
