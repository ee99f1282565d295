"""The connection on which generated SQL is bound and run, and nothing else is."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import duckdb
import pyarrow as pa

from relserve.errors import UsageError
from relserve.linking.schema import Schema
from relserve.text2sql.catalog.relations import in_transaction
from relserve.text2sql.guard.check import checked
from relserve.text2sql.guard.deadline import LATE_S, deadline
from relserve.text2sql.guard.functions import DatabaseFunctions, read_functions
from relserve.text2sql.guard.limits import DEFAULT, StatementLimits, limit_error
from relserve.text2sql.guard.watchdog import Watchdog


class GuardedConnection:
    """Binds and runs generated SQL: one SELECT over allowed tables, within limits, that can only read.

    Args:
        con: a cursor of the user's database, for this alone: the user's transaction, open result and settings
            stay as they are. It does not see the TEMP tables of other connections; where generated SQL is to
            read these, give the connection that has them, outside a transaction and with no open result.
        limits: what each statement may take.
        allowed: the tables that may be read; None for all tables and views that users made.
        cancel: when set, what runs is ended.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        limits: StatementLimits = DEFAULT,
        allowed: Schema | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self.limits, self.allowed, self.cancel = limits, allowed, cancel
        self._con = con

    def within(self, seconds: float | None, cancel: threading.Event | None) -> GuardedConnection:
        """The same, with no more time than this for a statement, and another `cancel`."""
        limits = self.limits
        if seconds is not None:
            limits = limits._replace(seconds=min(limits.seconds, seconds))
        narrowed = GuardedConnection(self._con, limits, self.allowed, cancel)
        narrowed.__dict__["_functions"] = self._functions  # read once
        return narrowed

    def explain(self, sql: str) -> list[tuple[str, str]]:
        """Bind a text without running it.

        Returns:
            Name and DuckDB's type of each column.

        Raises:
            UnsafeSqlError: it is more than a SELECT over allowed tables.
            LimitError: binding took too much.
            duckdb.Error: DuckDB cannot read or bind it.
        """
        with self._bound(sql) as relation:
            return list(zip(relation.columns, map(str, relation.types), strict=True))

    def rows(self, sql: str) -> pa.Table:
        """Run a text; an answer of more than `limits.rows` rows is an error.

        Args:
            sql: one SELECT.

        Raises:
            As `first_rows`.
        """
        table, is_cut = self.first_rows(sql)
        if is_cut:
            raise limit_error("rows", self.limits)
        return table

    def first_rows(self, sql: str) -> tuple[pa.Table, bool]:
        """Run a text; its answer is cut after `limits.rows` rows.

        Args:
            sql: one SELECT.

        Returns:
            The rows, and whether there are more.

        Raises:
            Cancelled: `cancel` was set.
            UnsafeSqlError: it is more than a SELECT over allowed tables; nothing of it ran.
            LimitError: it took too much; says what.
            duckdb.Error: DuckDB cannot read, bind or run it.
        """
        with self._bound(sql) as relation:
            if self.limits.rows == math.inf:
                return relation.to_arrow_table().rename_columns(relation.columns), False
            most = math.floor(self.limits.rows)
            table = relation.limit(most + 1).to_arrow_table().rename_columns(relation.columns)
        return table.slice(0, most), len(table) > most

    @contextmanager
    def _bound(self, sql: str) -> Iterator[duckdb.DuckDBPyRelation]:
        watchdog = Watchdog(self._con, self.limits, self.cancel, late_s=LATE_S)
        with deadline(self._con, self.limits), self._reading(), watchdog.watching():
            statement = checked(self._con, sql, self.allowed, self._functions)
            yield self._con.sql(statement)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """A transaction that writes nothing, and is always ended; no interrupt comes any more at its end."""
        if in_transaction(self._con.execute):
            raise UsageError("generated SQL runs outside a transaction: end it, or give a cursor instead")
        self._con.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._con.execute("ROLLBACK")

    @cached_property
    def _functions(self) -> DatabaseFunctions:
        return read_functions(self._con)
