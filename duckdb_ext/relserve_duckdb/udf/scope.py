"""What one connection's UDFs share: mode, answers, the last error and the cancel event."""

from __future__ import annotations

import threading
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import pyarrow as pa

from relserve.call.answer_types import Answer
from relserve.call.options import FUNCTIONS
from relserve.call.values import to_arrow
from relserve.errors import Cancelled
from relserve.policies.filter_order import Seen
from relserve.session.aggregate import answer_groups
from relserve.session.notices import warn
from relserve.session.progress import bar
from relserve.session.round import UNASKED, Enough
from relserve.session.session import Session
from relserve_duckdb.udf.changes import Changes
from relserve_duckdb.udf.memo import Collector, Memo, Wanted
from relserve_duckdb.udf.site import ARROW_TYPES, Chunk, Site, read_chunk, sql_type_of


class Mode(Enum):
    """What the UDF does with a prompt that has no answer yet."""

    RUN = "ask it"
    COLLECT = "note it and say NULL"
    SCAN = "have it noted beside those of the other filters"
    PLAN = "refuse, so that DuckDB leaves the call in the plan"


class Scanner(Protocol):
    """Looks at the inputs of several filters at once."""

    def add(self, chunk: Chunk) -> list[Any]:
        """Take a chunk, and tell what the UDF says."""


class PlanningOnly(Exception):
    """Refuses to fold a constant call; DuckDB's optimiser swallows it."""


@dataclass
class Scope:
    """State of one connection, read by its UDFs in DuckDB's threads.

    Attributes:
        excused: prompts of the running statement that need no answer: they are NULL.
        changes: of data, by the connection's cursors.
        seen: what each filter has let pass, over the statements of the connection.
    """

    session: Session
    show_progress: bool | None = None
    mode: Mode = Mode.RUN
    memo: Memo = field(default_factory=Memo)
    collector: Collector = field(default_factory=Collector)
    scanner: Scanner | None = None
    skipped: dict[Site, Container[str | None]] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    _stock: int | None = None  # changes of others when the rows were seen
    _is_same: bool = False  # the running statement is known to see the same rows
    seen: dict[Site, Seen] = field(default_factory=dict)
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
        self.skipped = {}
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

    @contextmanager
    def scanning(self, scanner: Scanner) -> Iterator[None]:
        """Calls inside ask nothing; what they say is up to the surveyor."""
        self.mode, self.scanner = Mode.SCAN, scanner
        try:
            yield
        finally:
            self.mode, self.scanner = Mode.RUN, None

    def take_stock(self) -> None:
        """What is excused from the rows seen from now on holds while no other cursor changes data."""
        self._stock, self._is_same = self.changes.of_others(id(self)), False

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
        return [answer.value for answer in self._answers_to(wanted)]

    def remember(self, wanted: Wanted, enough: Enough | None = None) -> None:
        """Ask and keep the answers for the calls to come; see `Session.run` for `enough`."""
        came = zip(wanted.prompts, self._answers_to(wanted, enough), strict=True)
        known = self.memo.known(wanted.site)
        known.update((prompt, answer.value) for prompt, answer in came if answer is not UNASKED)

    def _answers_to(self, wanted: Wanted, enough: Enough | None = None) -> Sequence[Answer]:
        relquery = wanted.site.relquery(wanted.rows, wanted.multiplicity)
        with self.lock:  # DuckDB's threads may come together
            if self.number is None:
                self.number = self.session.history.new_statement()
            self.asked = True
        with bar(self.show_progress) as progress:
            if FUNCTIONS[relquery.function].aggregate:
                with self.session.open(relquery.site, self.cancel, self.number) as opened:
                    return answer_groups(relquery, opened, progress).answers
            return self.session.run(relquery, self.cancel, progress, enough, self.number).answers

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
        if self.mode is Mode.SCAN and self.scanner is not None:
            return to_arrow(self.scanner.add(chunk), kind)
        kept = self._kept(chunk)
        if len(kept) == chunk.num_rows:
            return to_arrow(self._answers(chunk), kind)
        values: list[Any] = [None] * chunk.num_rows
        if kept:
            for i, value in zip(kept, self._answers(chunk.only(kept)), strict=True):
                values[i] = value
        return to_arrow(values, kind)

    def _answers(self, chunk: Chunk) -> list[Any]:
        if self.mode is not Mode.COLLECT:
            return self.memo.answer(chunk, self.ask, self.check_cancel)
        known = self.memo.known(chunk.site)
        self.collector.add(chunk, known)
        nothing = len(known) == 1  # only what NULL gives
        return [None] * chunk.num_rows if nothing else list(map(known.get, chunk.prompts))

    def _kept(self, chunk: Chunk) -> Sequence[int]:
        """The rows of a chunk that are not excused."""
        skipped, every = self.skipped.get(chunk.site), range(chunk.num_rows)
        if skipped is None:
            return every
        known = self.memo.known(chunk.site)
        kept = [i for i, prompt in enumerate(chunk.prompts) if prompt in known or prompt not in skipped]
        if len(kept) < len(every) and self._has_changed():
            self.skipped = {}
            return every
        return kept

    def _has_changed(self) -> bool:
        """Whether another cursor may have changed what was excused; once is enough, a snapshot stays."""
        if self.mode is Mode.COLLECT or self._is_same:
            return False
        self._is_same = self._stock is not None and self.changes.of_others(id(self)) == self._stock
        return not self._is_same
