"""What one connection's UDFs share: mode, answers, the last error and the cancel event."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pyarrow as pa

from relserve.errors import Cancelled
from relserve.groups import answer_groups
from relserve.options import FUNCTIONS
from relserve.relquery import RelQuery, Result
from relserve.session import Session
from relserve_duckdb.memo import Collector, Memo, Wanted
from relserve_duckdb.progress import bar
from relserve_duckdb.site import ARROW_TYPES, read_chunk, sql_type_of
from relserve_duckdb.values import to_arrow


class Mode(Enum):
    """What the UDF does with a prompt that has no answer yet."""

    RUN = "ask it"
    COLLECT = "note it and say NULL"
    PLAN = "refuse, so that DuckDB leaves the call in the plan"


class PlanningOnly(Exception):
    """Refuses to fold a constant call; DuckDB's optimiser swallows it."""


@dataclass
class Scope:
    """State of one connection, read by its UDFs in DuckDB's threads."""

    session: Session
    show_progress: bool | None = None
    mode: Mode = Mode.RUN
    memo: Memo = field(default_factory=Memo)
    collector: Collector = field(default_factory=Collector)
    cancel: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def begin(self) -> None:
        """The user starts something new; what was cancelled before is over."""
        self.cancel.clear()

    def forget(self) -> None:
        """A statement starts: drop what the last one knew."""
        self.memo.clear()
        self.error = None

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Calls inside ask nothing."""
        self.mode = Mode.PLAN
        try:
            yield
        finally:
            self.mode = Mode.RUN

    @contextmanager
    def collecting(self) -> Iterator[Collector]:
        """Calls inside ask nothing; what they would ask is noted."""
        self.mode, self.collector = Mode.COLLECT, Collector()
        try:
            yield self.collector
        finally:
            self.mode = Mode.RUN

    def call(self, function: str, columns: Sequence[Any]) -> Any:
        """The UDF: answers of one chunk.

        Raises:
            RelserveError: kept in `error` too, since DuckDB turns it into text.
        """
        try:
            return self._call(function, columns)
        except PlanningOnly:
            raise
        except BaseException as error:
            self.error = error
            raise

    def ask(self, wanted: Wanted) -> Sequence[Any]:
        """Have the session answer; the values in order."""
        relquery = wanted.site.relquery(wanted.rows, wanted.multiplicity)
        aggregate = FUNCTIONS[wanted.site.function].aggregate
        return (answer_groups(relquery, self._run) if aggregate else self._run(relquery)).values

    def _run(self, relquery: RelQuery) -> Result:
        with bar(self.show_progress) as progress:
            return self.session.run(relquery, self.cancel, progress)

    def remember(self, wanted: Wanted) -> None:
        """Ask and keep the answers for the calls to come."""
        self.memo.known(wanted.site).update(zip(wanted.prompts, self.ask(wanted), strict=True))

    def check_cancel(self) -> None:
        """Raise Cancelled if the statement was interrupted."""
        if self.cancel.is_set():
            raise Cancelled("the query was interrupted")

    def _call(self, function: str, columns: Sequence[Any]) -> Any:
        if self.mode is Mode.PLAN:
            raise PlanningOnly("no call at plan time")
        self.check_cancel()
        kind = ARROW_TYPES[sql_type_of(function)]
        chunk = read_chunk(function, columns)
        if chunk is None:
            return pa.nulls(len(columns[0]), kind)
        if self.mode is Mode.COLLECT:
            known = self.memo.known(chunk.site)
            self.collector.add(chunk, known)
            nothing = len(known) == 1  # only what NULL gives
            n = len(chunk.prompts)
            return pa.nulls(n, kind) if nothing else to_arrow(list(map(known.get, chunk.prompts)), kind)
        return to_arrow(self.memo.answer(chunk, self.ask, self.check_cancel), kind)
