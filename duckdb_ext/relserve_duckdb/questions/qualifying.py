"""SQL whose names mean, where it is put, the tables that they meant where it was checked.

WITH of the statement around it, a TEMP table or another search path may hide a table. Such a name gets those
of its schema and database before it, which only that table has.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import duckdb

from relserve.errors import UsageError
from relserve.linking.schema import quoted
from relserve.text2sql.guard.check import tables_read
from relserve.text2sql.guard.names import folded
from relserve.text2sql.guard.tables import CatalogTable, Path, read_tables
from relserve.text2sql.guard.walk import TableRead
from relserve_duckdb.questions.chosen import ChosenQuery
from relserve_duckdb.text.macros import makes_macro

_WITH = re.compile(r"(?i)\bwith\b")


def hidden_in(text: str) -> Callable[[str], bool]:
    """Whether a table's name may mean something else in a user's statement: there WITH may give it away.

    Whoever calls a macro may do so, too.
    """
    if makes_macro(text):
        return lambda name: True
    words = folded(text) if _WITH.search(text) else ""
    return lambda name: folded(name.replace('"', '""')) in words


def qualified(con: duckdb.DuckDBPyConnection, chosen: ChosenQuery, is_hidden: Callable[[str], bool]) -> str:
    """The SQL with names that mean the same tables on this connection.

    Raises:
        UnsafeSqlError: a table is not seen here.
        UsageError: a name means another table here, and no longer name can be put in its place.
    """
    data = chosen.sql.encode()
    changed = [
        read
        for read in tables_read(con, chosen.sql, None)
        if read.meant != chosen.meant[read.path] or (len(read.path) == 1 and is_hidden(read.path[0]))
    ]
    if not changed:
        return chosen.sql
    tables = read_tables(con, None)
    for read in sorted(changed, key=lambda read: -(read.start or 0)):
        wanted = chosen.meant[read.path]
        start, end = _place(data, read, chosen.sql)
        longer = next((path for path in _paths(wanted) if tables.meant(path) == wanted), None)
        if longer is None:
            raise _means_another(read.path, chosen.sql)
        data = data[:start] + ".".join(map(quoted, longer)).encode() + data[end:]
    return data.decode()


def _paths(wanted: frozenset[CatalogTable]) -> list[Path]:
    """The longer names of the one table that a name meant, the shortest first."""
    if len(wanted) != 1:
        return []
    (entry,) = wanted
    return [(entry.schema, entry.name), tuple(entry)]


def _place(data: bytes, read: TableRead, sql: str) -> tuple[int, int]:
    """From where to where a name is written, in bytes."""
    if read.start is None:
        raise _means_another(read.path, sql)
    written = data[read.start :].decode()
    names = [rf"(?:{re.escape(name)}|{re.escape(quoted(name))}|\"{re.escape(name)}\")" for name in read.path]
    found = re.match(r"\s*\.\s*".join(names) + r"(?!\w)", written)
    if found is None:
        raise _means_another(read.path, sql)
    return read.start, read.start + len(found[0].encode())


def _means_another(path: Path, sql: str) -> UsageError:
    name = ".".join(map(quoted, path))
    return UsageError(
        f"{name} means another table in your statement than in the SQL of text2sql(): a TEMP table, WITH or "
        f"the search path hides it. Give that one another name. The SQL is: {sql}"
    )
