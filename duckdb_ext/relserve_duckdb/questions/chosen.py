"""The SQL of a question, with the tables that its names meant where it was checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from relserve.text2sql.guard.check import tables_read
from relserve.text2sql.guard.tables import CatalogTable, Path
from relserve.text2sql.prompts.replies import bare


class ChosenQuery(NamedTuple):
    """One SELECT without semicolons, and without comments around it, which may swallow what follows.

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
    return ChosenQuery(bare(sql) or "", {read.path: read.meant for read in reads})
