"""Questions asked on behalf of one connection, and the SQL that was last chosen for each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import duckdb

from relserve.session.session import Session
from relserve.text2sql.cases.database import Database
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import Outcome
from relserve_duckdb.questions.arguments import Question

MAX_KEPT = 1000


class Pipeline(Protocol):
    """Turns questions into SQL: `relserve.text2sql.pipeline.run`, or what takes its place."""

    def __call__(
        self,
        questions: Sequence[str],
        database: Database,
        session: Session,
        options: Text2SqlOptions,
        *,
        evidence: Sequence[str | None] | None,
        cancel: threading.Event,
        statement: int,
    ) -> list[Outcome]:
        """One outcome a question, in order."""


class Asker:
    """Asks for one connection.

    Attributes:
        last_sql: the statement that ran last in place of one with text2sql(); None: none has yet.
    """

    def __init__(self, raw: duckdb.DuckDBPyConnection, session: Session, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.last_sql: str | None = None
        self._raw, self._session = raw, session
        self._kept: dict[Question, str] = {}

    def ask(
        self,
        questions: Sequence[str],
        options: Text2SqlOptions,
        cancel: threading.Event,
        statement: int,
        evidence: Sequence[str | None] | None = None,
    ) -> list[Outcome]:
        """Have questions become SQL, all of them together.

        Args:
            cancel: when set, what is asked is aborted in the engine.
            statement: number of the SQL statement that asks.
            evidence: for each question what one must know to understand it; None: that of the options.

        Raises:
            ModelError, UsageError, Cancelled: see `relserve.text2sql.pipeline.run`.
        """
        with reading_connection(self._raw) as con:
            outcomes = self.pipeline(
                questions, duckdb_database(con, options), self._session, options,
                evidence=evidence, cancel=cancel, statement=statement,
            )  # fmt: skip
        for outcome in outcomes:
            if outcome.sql is not None:
                self._keep(Question(outcome.question, options), outcome.sql)
        return outcomes

    def kept(self, question: Question) -> str | None:
        """The SQL that was last chosen for a question; None: it has not been asked here."""
        return self._kept.get(question)

    def _keep(self, question: Question, sql: str) -> None:
        self._kept.pop(question, None)
        self._kept[question] = sql
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
