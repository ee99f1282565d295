"""What the UDFs of one connection share for as long as it lives, and which statement they answer now."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from relserve.call.relquery import CallSite
from relserve.call.values import to_arrow
from relserve.policies.filter_order import FilterCounts
from relserve.session.session import Session
from relserve_duckdb.text.lexical import LEAD
from relserve_duckdb.text.stand_in import StandIn
from relserve_duckdb.udf.client import Client
from relserve_duckdb.udf.handlers import Handler, PlanningOnly, Running
from relserve_duckdb.udf.question_site import Answers
from relserve_duckdb.udf.site import ARROW_TYPES, read_chunk, sql_type_of
from relserve_duckdb.udf.statement_run import Execution, StatementRun

AnyHandler = TypeVar("AnyHandler", bound=Handler)
_READS = re.compile(LEAD + r"(select|from|explain\s++select|describe|show|summarize|values)\b[^;]*+;?+\s*+\Z")


class ConnectionState:
    """State of one connection, read by its UDFs in DuckDB's threads.

    Attributes:
        session: what answers.
        client: who runs the statements.
        changes: of data, by the connection and its cursors.
        questions: answers those of text2sql_query().
        keeps_answers: whether a statement keeps its answers; off, every chunk asks its own again.
        pass_rates: what each filter has let pass, over the statements of the connection.
        run: the statement that the UDFs answer.
        stand_ins: the last texts that ran instead of a user's.
        error: the last error of a UDF, since DuckDB turns it into text.
    """

    def __init__(
        self,
        session: Session,
        client: Client,
        changes: Changes,
        keeps_answers: bool,
        questions: Answers | None = None,
    ) -> None:
        self.session, self.client, self.changes, self.questions = session, client, changes, questions
        self.keeps_answers = keeps_answers
        self.pass_rates: dict[CallSite, FilterCounts] = {}
        self.stand_ins: Sequence[StandIn] = ()
        self.error: BaseException | None = None
        self.run = self.new_run(Execution(), keeps_answers)
        self._handler: Handler = Running(self.run)

    def begin(self) -> None:
        """The user starts something new; a result that is still read goes on under it."""
        self.run.go_on_under(self.run.execution.next())

    def start_statement(self) -> None:
        """A statement starts: nothing that the last one knew holds for it."""
        self.run.close()
        self.run = self.new_run(self.run.execution, self.keeps_answers)
        self._handler = Running(self.run)
        self.error = None

    def new_run(self, execution: Execution, keeps_answers: bool) -> StatementRun:
        """A run that the UDFs do not answer by themselves, such as one for made-up answers."""
        # Not a lambda: that would hold this state, which holds the run, until the collector comes.
        changes_of_others = partial(self.changes.of_others, id(self))
        return StatementRun(
            self.session, self.client, execution, keeps_answers, changes_of_others, self.questions
        )

    def changing(self, text: str = "") -> AbstractContextManager[None]:
        """What may change data runs inside; a text that only reads is no change."""
        return self.changes.by(id(self), text)

    @contextmanager
    def handled_by(self, handler: AnyHandler) -> Iterator[AnyHandler]:
        """The handler answers all chunks while inside."""
        former, self._handler = self._handler, handler
        try:
            yield handler
        finally:
            self._handler = former

    def running(self) -> StatementRun | None:
        """The statement whose rows are computed; None in a dry run, or where nobody will read them.

        Raises:
            PlanningOnly, Cancelled: no rows are to be computed.
        """
        self._handler.check()
        return self.run if isinstance(self._handler, Running) else None

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """A UDF works inside; what it raises is kept in `error` too, but for PlanningOnly."""
        try:
            yield
        except PlanningOnly:
            raise
        except BaseException as error:
            self.error = error
            raise

    def call(self, function: str, columns: Sequence[Any]) -> Any:
        """The UDF: answers of one chunk.

        Raises:
            RelserveError: kept in `error` too.
        """
        with self.noting_errors():
            handler = self._handler
            handler.check()
            kind = ARROW_TYPES[sql_type_of(function)]
            chunk = read_chunk(function, columns)
            if chunk is None:
                return pa.nulls(len(columns[0]), kind)
            for model in chunk.site.options.models:
                self.session.model_hosts.check(model)
            return to_arrow(handler.answer(chunk), kind)


class Changes:
    """Changes made by the cursors of a connection, so that one can tell whether another has changed data.

    Each cursor is known by a number.
    """

    def __init__(self) -> None:
        self._started: Counter[int] = Counter()
        self._under_way: Counter[int] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def by(self, cursor: int, text: str = "") -> Iterator[None]:
        """A statement of the cursor runs inside; a text that surely only reads is no change."""
        if _READS.match(text):
            yield
            return
        with self._lock:
            self._started[cursor] += 1
            self._under_way[cursor] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[cursor] -= 1

    def of_others(self, cursor: int) -> int | None:
        """How many changes all other cursors have made; None while one is being made."""
        with self._lock:
            if any(count for each, count in self._under_way.items() if each != cursor):
                return None
            return self._started.total() - self._started[cursor]
