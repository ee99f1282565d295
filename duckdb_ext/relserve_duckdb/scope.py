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
from relserve.failed_rows import warn
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
    number: int | None = None  # of the statement, once it asked something
    asked: bool = False  # whether something was asked since failed rows were last looked for
    told: bool = False  # whether the user was told that rows of this statement failed
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """The user starts something new; what was cancelled before is over."""
        self.cancel.clear()
        self.number, self.asked, self.told = None, False, False

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
        with self.lock:  # DuckDB's threads may come together
            self.number = self.number or self.session.history.new_statement()
            self.asked = True
        with bar(self.show_progress) as progress:
            return self.session.run(relquery, self.cancel, progress, self.number).values

    def remember(self, wanted: Wanted) -> None:
        """Ask and keep the answers for the calls to come."""
        self.memo.known(wanted.site).update(zip(wanted.prompts, self.ask(wanted), strict=True))

    def warn(self) -> None:
        """Tell the user, once a statement, that rows failed."""
        if self.asked and not self.told:
            self.asked = False
            self.told = warn(self.session.history, self.number or 0)

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
