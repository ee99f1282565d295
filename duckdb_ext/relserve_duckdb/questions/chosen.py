"""The SQL of a question, with the tables that its names meant where it was checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from relserve.text2sql.guard.check import tables_read
from relserve.text2sql.guard.tables import CatalogTable, Path

_MAY_END = (duckdb.token_type.comment, duckdb.token_type.operator)


class ChosenQuery(NamedTuple):
    """One SELECT, without a semicolon or comments at its end.

    Attributes:
        meant: the tables and views that each of its names can mean.
    """

    sql: str
    meant: Mapping[Path, frozenset[CatalogTable]]


def chosen(con: duckdb.DuckDBPyConnection, sql: str) -> ChosenQuery:
    """SQL as it was checked on a connection.

    Raises:
        UnsafeSqlError: it is more than a SELECT over tables.
    """
    reads = tables_read(con, sql, None)
    return ChosenQuery(bare(sql), {read.path: read.meant for read in reads})


def bare(sql: str) -> str:
    """A statement without the semicolons and comments at its end, which may not swallow what follows it."""
    data = sql.encode()
    end = len(data)
    for start, kind in reversed(duckdb.tokenize(sql)):
        text = data[start:end].strip()
        if kind not in _MAY_END or (kind == duckdb.token_type.operator and text.strip(b";").strip()):
            break
        end = start
    return data[:end].decode().strip()
