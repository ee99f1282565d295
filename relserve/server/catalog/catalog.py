"""The catalog of one DuckDB instance, and the texts that ask it."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import duckdb
import pyarrow as pa

from relserve.server.catalog.activity import (
    Prepared,
    Signal,
    register_activity,
    register_prepared,
    register_signal,
)
from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.asked.text import may_ask, translated
from relserve.server.catalog.attached import catalog_names
from relserve.server.catalog.facts import Facts
from relserve.server.catalog.names import users_own
from relserve.server.catalog.words import in_duckdbs_words

_CHECKS = "SELECT DISTINCT name FROM _pg.own.named_constraints() WHERE table_name = ? AND constraint_text = ?"
SHORT = 10_000  # characters of a text that is read beside others: sqlglot is Python, of which one thread runs
LONGEST = 200_000  # characters of a text that may ask the catalog; longer ones bring rows or lists of values


class Catalog:
    """PostgreSQL's catalog over a DuckDB instance to which `_pg` is attached.

    Args:
        activity: the clients for pg_stat_activity, a row each; with the columns `connection`, the number of
            its DuckDB connection, and `is_admin`, whether it may see what others run.
        signal: stops a client for the client of a connection, if it may.
        prepared: what the client of a connection has prepared in messages.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, activity: Callable[[], pa.Table], signal: Signal,
        prepared: Prepared = lambda connection: [],
    ) -> None:  # fmt: skip
        self._con, self._long = con.cursor(), threading.Lock()
        register_activity(self._con, activity)
        register_signal(self._con, signal)
        register_prepared(self._con, prepared)
        self._asked = CatalogContext(catalog_names(), partial(users_own, self._con))

    def translate(self, sql: str, facts: Facts) -> str:
        """DuckDB's text for one that asks PostgreSQL's catalog; every other text as it is."""
        if len(sql) > LONGEST or not may_ask(sql):
            return sql
        with self._turn(sql):
            return translated(sql, self._asked._replace(facts=facts))

    def check_name(self, table: str, text: str) -> str | None:
        """What PostgreSQL would have called a check of a table; None: no table that was committed has it.

        Args:
            text: the check as DuckDB writes it.
        """
        found = self._con.execute(_CHECKS, [table, text]).fetchall()
        return str(found[0][0]) if len(found) == 1 else None

    def in_duckdbs_words(self, sql: str) -> str | None:
        """A text that DuckDB refused, as DuckDB would say it; None if that is the same."""
        if len(sql) > LONGEST:
            return None
        with self._turn(sql):
            return in_duckdbs_words(sql, self._asked)

    def _turn(self, sql: str) -> AbstractContextManager[object]:
        """Long texts are read one after the other: many at once would hold up all clients."""
        return nullcontext() if len(sql) <= SHORT else self._long
