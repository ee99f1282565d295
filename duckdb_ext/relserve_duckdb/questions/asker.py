"""Questions asked on behalf of one connection, and the SQL that was last chosen for each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import duckdb

from relserve.errors import UsageError
from relserve.session.session import Session
from relserve.text2sql.catalog.reading import read_schema
from relserve.text2sql.catalog.relations import in_transaction
from relserve.text2sql.guard.check import check_select
from relserve.text2sql.options import Text2SqlOptions
from relserve_duckdb.questions.arguments import Question, checked_text
from relserve_duckdb.questions.chosen import ChosenQuery, chosen
from relserve_duckdb.questions.qualifying import qualified
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.text.question_options import options_of

if TYPE_CHECKING:  # the pipeline is imported by the first question
    from relserve.text2sql.pipeline import QuestionOutcome

MAX_KEPT = 1000
_LOOK = """
SELECT system.main.current_setting('search_path'),
    EXISTS (FROM system.main.duckdb_tables() WHERE temporary)
    OR EXISTS (FROM system.main.duckdb_views() WHERE temporary AND NOT internal)
"""


class Pipeline(Protocol):
    """Turns questions about a database into SQL."""

    def __call__(
        self,
        questions: Sequence[str],
        con: duckdb.DuckDBPyConnection,
        session: Session,
        options: Text2SqlOptions,
        *,
        evidence: Sequence[str | None] | None,
        cancel: threading.Event,
    ) -> list[QuestionOutcome]:
        """One outcome a question, in order; see `relserve.text2sql.pipeline.run`.

        Args:
            con: sees what the asker may see; nothing else uses it meanwhile.
        """


class Asker:
    """Asks for one connection.

    Args:
        pipeline: None: that of `relserve.text2sql`.

    Attributes:
        session: what is asked.
        last_sql: the statement that ran last in place of one with text2sql(); None: none has yet.
    """

    def __init__(
        self, raw: duckdb.DuckDBPyConnection, session: Session, pipeline: Pipeline | None = None
    ) -> None:
        self.pipeline = pipeline
        self.last_sql: str | None = None
        self._raw, self.session = raw, session
        self._place = _ReadingPlace()
        self._kept: dict[tuple[Question, str], ChosenQuery] = {}  # by question and search path

    def look(self) -> None:
        """Look where the connection stands, which runs nothing now but may ask while it does."""
        self._place = _find_reading_place(self._raw)

    def ask(
        self,
        questions: Sequence[str],
        options: Text2SqlOptions,
        cancel: threading.Event,
        evidence: Sequence[str | None] | None = None,
        runs: bool = False,
        to_run: bool = False,
    ) -> list[QuestionOutcome]:
        """Have questions become SQL, all of them together.

        Args:
            cancel: when set, what is asked is aborted in the engine.
            evidence: for each question what one must know to understand it; None: that of the options.
            runs: the connection runs a statement, which asks.
            to_run: what is chosen is to run, and is kept.

        Raises:
            UnsafeSqlError: what is to run is more than a SELECT.
            ModelError, UsageError, Cancelled: see `relserve.text2sql.pipeline.run`.
        """
        pipeline = self.pipeline or _standard()
        if not runs:
            self.look()
        with self._place.open(self._raw, runs) as con:
            outcomes = pipeline(questions, con, self.session, options, evidence=evidence, cancel=cancel)
            if to_run:
                for outcome in [each for each in outcomes if each.sql is not None]:
                    self._keep(Question(outcome.question, options), chosen(con, outcome.sql or ""))
        if to_run:
            self._check([outcome.sql for outcome in outcomes if outcome.sql is not None], options)
        return outcomes

    def answer(self, question: str, options: Mapping[str, Any], cancel: threading.Event) -> QuestionOutcome:
        """The outcome of one question, which has SQL.

        Args:
            options: by the names that they have in SQL.

        Raises:
            Text2SqlError: it became no SQL.
            UsageError, OptionError, ModelError, Cancelled: see `ask`.
        """
        text = checked_text(question)
        (outcome,) = self.ask([text], options_of(TEXT2SQL, options), cancel, to_run=True)
        if outcome.failure is not None:
            raise outcome.failure
        found = self.kept(Question(text, options_of(TEXT2SQL, options)))
        if found is None:
            return outcome
        return outcome._replace(sql=qualified(self._raw, found, lambda _: False))

    def kept(self, question: Question) -> ChosenQuery | None:
        """What was last chosen for a question, where the connection looked at it; None: it was not asked."""
        return self._kept.get((question, self._place.search_path))

    def _check(self, sqls: Sequence[str], options: Text2SqlOptions) -> None:
        """Look once more at SQL that is to run on the asker's connection.

        Raises:
            UnsafeSqlError: it is more than a SELECT, or means other tables there than those of the options.
        """
        if sqls:
            # A TEMP macro named like a function is seen here alone, and could read other tables than those.
            is_bounded = options.tables is not None or options.schema is not None
            allowed = read_schema(self._raw, options.tables, options.schema) if is_bounded else None
            for sql in sqls:
                check_select(self._raw, sql, allowed)

    def known(self, question: Question) -> ChosenQuery | None:
        """The same, as long as the SQL still binds and means the same; else it is forgotten."""
        self.look()
        found = self.kept(question)
        if found is None:
            return None
        try:
            qualified(self._raw, found, lambda _: False)
            self._raw.execute(f"EXPLAIN {found.sql}").fetchall()
        except (UsageError, duckdb.Error):
            del self._kept[question, self._place.search_path]
            return None
        return found

    def _keep(self, question: Question, found: ChosenQuery) -> None:
        key = (question, self._place.search_path)
        self._kept.pop(key, None)
        self._kept[key] = found
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]


def _standard() -> Pipeline:
    from relserve.text2sql.duckdb_database import answer

    return answer


class _ReadingPlace(NamedTuple):
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


def _find_reading_place(raw: duckdb.DuckDBPyConnection) -> _ReadingPlace:
    """That of a connection which runs nothing."""
    ((search_path, has_temporary),) = raw.sql(_LOOK).fetchall()
    return _ReadingPlace(search_path, bool(has_temporary) and not in_transaction(raw.sql))
