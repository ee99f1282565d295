"""What DuckDB's parser made of a statement, by its own account; no reader of ours comes between.

DuckDB tells it of what reads rows, and of INSERT, UPDATE, DELETE and COPY .. TO where they stand in a WITH.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import NamedTuple

import duckdb

_ASKED = "SELECT system.main.json_serialize_sql($1)"
_FAILED = '{"error":true'
# In JSON every quote of a value has a backslash before it, so that {" or ," only begins a key.
_FIELD = re.compile(r'[{,]"(type|function_name|table_name|catalog_name)":"((?:[^"\\]|\\.)*+)"')
_COPIES = "COPY_QUERY_NODE"
_WRITES = frozenset(["INSERT_QUERY_NODE", "UPDATE_QUERY_NODE", "DELETE_QUERY_NODE"])
_local = threading.local()


class StatementNames(NamedTuple):
    """What a statement names, in small letters.

    Attributes:
        calls: functions.
        relations: tables and views; a file stands there, too.
        copies: whether there is a COPY in it.
        writes: whether there is an INSERT, UPDATE or DELETE in it.
    """

    calls: frozenset[str]
    relations: frozenset[str]
    copies: bool
    writes: bool


def named(statement: str, writes: bool = False) -> StatementNames | None:
    """What a statement names; None: DuckDB does not tell.

    Args:
        statement: without a semicolon at its end.
        writes: whether it is INSERT, UPDATE or DELETE.
    """
    if writes:
        statement = f"WITH _ AS (\n{statement}\n) SELECT 1"
    told = parser().execute(_ASKED, [statement]).fetchall()[0][0]
    if told.startswith(_FAILED):
        return None
    found: dict[str, set[str]] = {}
    for key, value in _FIELD.findall(told):
        found.setdefault(key, set()).add(value)
    lower = {key: frozenset(map(str.lower, values)) for key, values in found.items()}
    return StatementNames(
        lower.get("function_name", frozenset()),
        lower.get("table_name", frozenset()),
        _COPIES in (nodes := found.get("type", set())),
        not _WRITES.isdisjoint(nodes),
    )


def parser() -> duckdb.DuckDBPyConnection:
    """A connection of this thread's own to a database in which nobody has defined anything."""
    if not hasattr(_local, "con"):
        _local.con = _database().cursor()
    return _local.con  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:", config={"threads": 1, "enable_external_access": False, "lock_configuration": True}
    )


@lru_cache(maxsize=1)
def keywords() -> frozenset[str]:
    """Words that DuckDB keeps to itself; none is a plain name."""
    return names_of(
        "SELECT keyword_name FROM system.main.duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    )


def names_of(query: str) -> frozenset[str]:
    """The names that a query about DuckDB's own catalog gives, in small letters."""
    return frozenset(name.lower() for (name,) in parser().execute(query).fetchall())
