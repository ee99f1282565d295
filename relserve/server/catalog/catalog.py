"""The catalog of one DuckDB instance, and the texts that ask it."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import duckdb
import pyarrow as pa
import sqlglot

from relserve.server.catalog.activity import (
    Prepared,
    Signal,
    register_activity,
    register_prepared,
    register_signal,
)
from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.asked.text import RULES, UNREAD, may_ask, read_postgresql, translated
from relserve.server.catalog.attached import catalog_names, users_own
from relserve.server.catalog.facts import Facts

_CHECKS = "SELECT DISTINCT name FROM _pg.own.named_constraints() WHERE table_name = ? AND constraint_text = ?"
SHORT = 10_000  # characters of a text that is read beside others: of all that reads them one thread runs
LONGEST_IN_TURN = 2_000_000  # longer ones DuckDB's parser never gets, and Python gives other threads a turn
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
        self._con, self._long = con.cursor(), threading.RLock()
        register_activity(self._con, activity)
        register_signal(self._con, signal)
        register_prepared(self._con, prepared)
        self._asked = CatalogContext(catalog_names(), partial(users_own, self._con))

    def translate(self, sql: str, facts: Facts) -> str:
        """DuckDB's text for one that asks PostgreSQL's catalog; every other text as it is."""
        if len(sql) > LONGEST or not may_ask(sql):
            return sql
        with self.turn(sql):
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
        with self.turn(sql):
            return _in_duckdbs_words(sql, self._asked)

    def turn(self, sql: str) -> AbstractContextManager[object]:
        """Long texts are read one after the other: of many at once each would hold up all other clients."""
        return self._long if SHORT < len(sql) <= LONGEST_IN_TURN else nullcontext()


def _in_duckdbs_words(sql: str, asked: CatalogContext) -> str | None:
    """A PostgreSQL text as DuckDB would say it; None if it says the same, or sqlglot cannot read it.

    sqlglot reads PostgreSQL's types, such as jsonb, as DuckDB's too, which DuckDB itself does not.
    """
    tree = read_postgresql(sql)
    if tree is None:
        return None
    try:
        for rule in RULES:
            tree = rule(tree, asked)
        spelled = tree.sql(dialect="duckdb", normalize_functions=False)
    except UNREAD:  # what sqlglot reads and cannot write, as b'x'
        return None
    return None if spelled == _as_duckdb(sql) and "jsonb" not in sql.lower() else spelled


def _as_duckdb(sql: str) -> str | None:
    """The text in the form that sqlglot gives it, when it reads it as DuckDB's."""
    try:
        return sqlglot.parse_one(sql, read="duckdb").sql(dialect="duckdb", normalize_functions=False)
    except UNREAD:
        return None
