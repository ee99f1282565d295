"""Where questions look at a database: on a connection that sees what the asker sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import duckdb

from relserve.errors import UsageError
from relserve.text2sql.catalog.relations import in_transaction

_LOOK = """
SELECT system.main.current_setting('search_path'),
    EXISTS (FROM system.main.duckdb_tables() WHERE temporary)
    OR EXISTS (FROM system.main.duckdb_views() WHERE temporary AND NOT internal)
"""


class ReadingPlace(NamedTuple):
    """Of one connection, between its statements.

    Attributes:
        search_path: where it looks for names.
        is_own: questions look on the connection itself, for no other one sees its temporary tables. Never
            inside its transaction, which an error would end.
    """

    search_path: str = ""
    is_own: bool = False

    @contextmanager
    def open(self, raw: duckdb.DuckDBPyConnection, runs: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection to look on.

        Args:
            raw: the asker's.
            runs: it runs a statement, so that another one has to do.

        Raises:
            UsageError: another connection does not see where it looks for names.
        """
        if self.is_own and not runs:
            yield raw
            return
        cursor = raw.cursor()
        try:
            if self.search_path:
                _set_search_path(cursor, self.search_path)
            yield cursor
        finally:
            cursor.close()


def _set_search_path(cursor: duckdb.DuckDBPyConnection, search_path: str) -> None:
    try:
        cursor.execute("SET search_path = $1", [search_path])
    except duckdb.CatalogException as error:
        raise UsageError(
            f"text2sql looks for tables in {search_path!r}, which another connection cannot see yet: a "
            "transaction that has not ended made it, or it is gone. COMMIT first, or USE another schema"
        ) from error


def find_reading_place(raw: duckdb.DuckDBPyConnection) -> ReadingPlace:
    """That of a connection which runs nothing."""
    ((search_path, has_temporary),) = raw.sql(_LOOK).fetchall()
    return ReadingPlace(search_path, bool(has_temporary) and not in_transaction(raw.sql))
