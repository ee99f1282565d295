"""A DuckDB connection as the pipeline's database: catalog, values and guard behind one Protocol."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import duckdb

from relserve.errors import Cancelled
from relserve.linking.schema import Schema
from relserve.session.session import Session
from relserve.text2sql.cases.database import ANYTHING, Allowance
from relserve.text2sql.cases.results import ShownRows
from relserve.text2sql.catalog.reading import read_schema
from relserve.text2sql.guard.connection import GuardedConnection
from relserve.text2sql.guard.limits import DEFAULT, StatementLimits
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import QuestionOutcome, in_time, run
from relserve.text2sql.retrieval.database_values import DatabaseValues
from relserve.text2sql.retrieval.golden import GoldenExamples
from relserve.text2sql.retrieval.library import ValueLibrary
from relserve.text2sql.retrieval.place import values_dir


class DuckDBDatabase:
    """What one connection sees, as it is when it is first looked at.

    Args:
        con: sees what the asker may see; nothing else uses it meanwhile, and it is in no transaction.
        options: which tables to look at, and the table of examples.
        limits: of each statement that a model wrote.
        library: keeps the indexes of values.
        cancel: when set, values are read no further; nor when the options' deadline passes, counted from now.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        options: Text2SqlOptions,
        limits: StatementLimits = DEFAULT,
        library: ValueLibrary | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._ending = _Ending(cancel, options.deadline_s)
        self._con, self._options, self._limits = con, options, limits
        self._library = library or library_in(values_dir())

    def schema(self) -> Schema:
        """See `Database.schema`; the table of examples is not among them, unless it is asked for.

        Raises:
            UsageError: there is no such table or schema, with the nearest names, or none at all.
        """
        return self._schema

    def values(self) -> DatabaseValues:
        """See `Database.values`.

        Raises:
            Cancelled: the asker cancelled while they were read.
            TimeoutError: the deadline passed meanwhile.
        """
        return self._values

    def explain(self, sql: str, within: Allowance = ANYTHING) -> list[tuple[str, str]]:
        """See `Database.explain`."""
        return self._guarded.within(*within).explain(sql)

    def rows(self, sql: str, within: Allowance = ANYTHING) -> ShownRows:
        """See `Database.rows`."""
        return ShownRows(*self._guarded.within(*within).first_rows(sql))

    def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
        """See `Database.golden`.

        Raises:
            UsageError: the table of examples is not there, or has other columns.
        """
        return () if self._examples is None else self._examples.nearest(question, k)

    @cached_property
    def _schema(self) -> Schema:
        schema = read_schema(self._con, self._options.tables, self._options.schema)
        if self._examples is None or self._options.tables is not None:
            return schema
        named = read_schema(self._con, [str(self._options.examples)], num_values=0).tables
        kept = {(table.qualifier, table.name) for table in named}
        return Schema(tuple(t for t in schema.tables if (t.qualifier, t.name) not in kept))

    @cached_property
    def _values(self) -> DatabaseValues:
        try:
            return self._library.values(self._con, self._schema, self._ending)
        except Cancelled:
            if not self._ending.is_late:
                raise
            message = f"the deadline of {self._options.deadline_s:g} seconds passed while values were read"
            raise TimeoutError(message) from None

    @cached_property
    def _examples(self) -> GoldenExamples | None:
        table = self._options.examples
        return None if table is None else GoldenExamples(self._con, table)

    @cached_property
    def _guarded(self) -> GuardedConnection:
        return GuardedConnection(self._con, self._limits, self._schema)


class _Ending(threading.Event):
    """Is set when the asker cancels, or when a number of seconds is over."""

    def __init__(self, cancel: threading.Event | None, seconds: float | None) -> None:
        super().__init__()
        self._cancel = cancel or threading.Event()
        self._ends_s = math.inf if seconds is None else time.monotonic() + seconds

    @property
    def is_late(self) -> bool:
        """Whether it is the time that is over, and nobody cancelled."""
        return not self._cancel.is_set() and time.monotonic() >= self._ends_s

    def is_set(self) -> bool:
        """See `threading.Event.is_set`."""
        return self._cancel.is_set() or self.is_late


def answer(
    questions: Sequence[str],
    con: duckdb.DuckDBPyConnection,
    session: Session,
    options: Text2SqlOptions,
    *,
    evidence: Sequence[str | None] | None = None,
    cancel: threading.Event | None = None,
) -> list[QuestionOutcome]:
    """Turn questions about what a connection sees into SQL; see `relserve.text2sql.pipeline.run`.

    Args:
        con: see `DuckDBDatabase`.
    """
    options = in_time(options, session)
    tried = options.held_to._replace(rows=min(options.held_to.rows, DEFAULT.rows))  # enough to compare
    database = DuckDBDatabase(con, options, tried, cancel=cancel)
    return run(questions, database, session, options, evidence=evidence, cancel=cancel)


@lru_cache(maxsize=8)
def library_in(folder: Path) -> ValueLibrary:
    """The library of a folder, one for all connections of the process."""
    return ValueLibrary(folder)
