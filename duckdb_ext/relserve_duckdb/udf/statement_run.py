"""One statement on its way: its answers, its relQueries, the prompts it skips, its cancel event."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from relserve.call.answer_types import Answer
from relserve.call.options import FUNCTIONS
from relserve.call.relquery import CallSite
from relserve.errors import Cancelled, FailureKind
from relserve.machine import traces
from relserve.session.aggregate import answer_groups
from relserve.session.clusters import Clusters
from relserve.session.in_rounds import NULL, RelQueryInRounds
from relserve.session.ranked import rank_groups
from relserve.session.round import UNASKED, Enough
from relserve.session.session import Session
from relserve.text2sql.guard.watchdog import Watchdog
from relserve_duckdb.text.call_limits import RANK
from relserve_duckdb.udf.client import Teller
from relserve_duckdb.udf.memo import Memo, Wanted, folded_of, relquery_of
from relserve_duckdb.udf.question_site import Answers, AskedQuestions, QuestionSite
from relserve_duckdb.udf.site import Site
from relserve_duckdb.udf.skipped import SkippedPrompts


@dataclass
class Execution:
    """What one call of the user's runs: a text of several statements, or a relation that is read.

    Attributes:
        cancel: set when the user interrupts.
        number: of the statement in llm_queries(), once something was asked.
        has_news: whether something was asked since failed rows were last looked for.
        was_warned: whether the user was told that rows failed.
    """

    cancel: threading.Event = field(default_factory=threading.Event)
    number: int | None = None
    has_news: bool = False
    was_warned: bool = False

    def next(self) -> Execution:
        """The execution that follows; an interrupt of it also stops what a result of this one still asks."""
        return Execution() if self.cancel.is_set() else Execution(self.cancel)


class StatementRun:
    """One statement, from its first rehearsal until the next statement starts.

    Each of its call sites is one relQuery, however often it is asked: in blocks of rows, in rehearsals, and
    chunk by chunk while the statement runs.

    Attributes:
        execution: what it belongs to.
        memo: its answers.
        skipped: its prompts that need no answer.
        clusters: that its calls of llm_cluster and llm_topics have found, by what they were found from.
        waits_for_batch: rows of it are in a batch that has not ended.
        trace: the span below which it asks, in whichever thread; None: nobody traces.
        watchdog: ends it at the limits of a question's SQL in it. Held by the runner alone, for DuckDB's
            catalog holds the functions, and so this, which would hold DuckDB's connection by it.
    """

    def __init__(
        self,
        session: Session,
        client: Teller,
        execution: Execution,
        keeps_answers: bool,
        count_changes: Callable[[], int | None],
        questions: Answers | None = None,
    ) -> None:
        self.session, self.client, self.execution = session, client, execution
        self.memo, self._questions = Memo(keeps_answers), questions
        self.skipped = SkippedPrompts(count_changes)
        self.clusters: dict[bytes, Clusters] = {}
        self.waits_for_batch = False
        self.trace = traces.carried()
        self.watchdog: weakref.ref[Watchdog] | None = None
        self._asked: set[Site] = set()  # call sites
        self._relqueries: dict[Site, RelQueryInRounds] = {}
        self._rows: dict[Site, tuple[int, int]] = {}  # that running calls gave, and those with a NULL
        self._rehearsed: set[Site] = set()  # sites whose rows with a NULL are on record
        self._lock = threading.Lock()

    @property
    def cancel(self) -> threading.Event:
        return self.execution.cancel

    @property
    def num_calls(self) -> int:
        """Calls of its text that have asked."""
        return len(self._asked)

    @property
    def asked(self) -> frozenset[Site]:
        """Those calls."""
        return frozenset(self._asked)

    def check_cancel(self) -> None:
        """Raise Cancelled if the statement was interrupted."""
        if self.cancel.is_set():
            raise Cancelled("the query was interrupted")

    def ask(self, wanted: Wanted) -> Iterable[tuple[str, Any]]:
        """Have the session answer what a chunk of the running statement needs; prompts with their answers."""
        wanted = wanted.without_null() if wanted.site in self._rehearsed else wanted
        self._asked.add(wanted.site)
        with traces.within(self.trace), self._unwatched():  # DuckDB's threads know of no span
            if isinstance(wanted.site, QuestionSite):
                return self._ask_questions(wanted, wanted.site, runs=True)
            return self._ask(wanted, wanted.site)

    def remember(self, wanted: Wanted, enough: Enough | None = None, announced: int | None = None) -> None:
        """Ask what a rehearsal found and keep the answers for the calls to come.

        Args:
            enough, announced: see `OpenRelQuery.ask`.
        """
        if wanted.site in self._rehearsed:
            wanted = wanted.without_null()
        self._rehearsed.add(wanted.site)
        self._asked.add(wanted.site)
        with self._unwatched():
            if isinstance(wanted.site, QuestionSite):
                answers = self._ask_questions(wanted, wanted.site, runs=False)
            else:
                answers = self._ask(wanted, wanted.site, enough, announced)
        self.memo.known(wanted.site).update(answers)

    def count_rows(self, site: Site, num_rows: int, num_null: int) -> None:
        """Have rows of a running call on its record, those too whose prompts had been asked before.

        Args:
            num_rows, num_null: of a chunk, and how many of them a NULL left without a prompt.
        """
        with self._lock:
            seen, null = self._rows.get(site, (0, 0))
            self._rows[site] = seen, null = seen + num_rows, null + num_null
            if (opened := self._relqueries.get(site)) is not None:
                record = opened.record
                record.num_rows, record.num_null, record.num_rows_done = seen, null, seen - null

    def statement_number(self) -> int:
        """The number, in the history, of the statement that asks something."""
        with self._lock:  # DuckDB's threads may come together
            execution = self.execution
            if execution.number is None:
                execution.number = self.session.history.new_statement()
            execution.has_news = True
            return execution.number

    def warn(self) -> None:
        """Tell the user, once for all statements of a call of theirs, that rows failed."""
        execution = self.execution
        if execution.has_news and not execution.was_warned:
            execution.has_news = False
            number = execution.number or 0
            execution.was_warned = self.client.warn_of_failures(self.session.history, number)

    def go_on_under(self, execution: Execution) -> None:
        """The user has started something new; rows of this statement that are still read belong to it."""
        self.close()
        self.execution = execution

    def close(self) -> None:
        """Nothing more is asked, unless rows of the statement are read all the same."""
        with self._lock:
            opened, self._relqueries = self._relqueries, {}
        for relquery in opened.values():
            relquery.close()

    def _unwatched(self) -> AbstractContextManager[None]:
        """A model works for the statement inside."""
        watchdog = None if self.watchdog is None else self.watchdog()
        return nullcontext() if watchdog is None else watchdog.paused()

    def _ask_questions(self, wanted: Wanted, site: QuestionSite, runs: bool) -> Iterable[tuple[str, Any]]:
        """Have the questions of text2sql_query() become SQL; see `Answers.queries`."""
        assert self._questions is not None, "whoever has text2sql_query() answers it"
        texts, evidence = zip(*wanted.rows, strict=True)
        asked = AskedQuestions(site, texts, evidence, wanted.multiplicity, wanted.num_null)
        found = self._questions.queries(asked, self.cancel, self.statement_number(), runs)
        return zip(wanted.prompts, found, strict=True)

    def _ask(
        self, wanted: Wanted, site: CallSite, enough: Enough | None = None, announced: int | None = None
    ) -> Iterable[tuple[str, Any]]:
        answers = self._answers_to(wanted, site, enough, announced)
        failures = [answer.failure for answer in answers if answer.failure is not None]
        if any(each.kind is FailureKind.IN_BATCH for each in failures):
            self.waits_for_batch = True
        asked = zip(wanted.prompts, answers, strict=True)
        return ((prompt, answer.value) for prompt, answer in asked if answer is not UNASKED)

    def _answers_to(
        self, wanted: Wanted, site: CallSite, enough: Enough | None, announced: int | None
    ) -> Sequence[Answer]:
        opened = self._opened(site)
        with self.client.progress() as progress:
            if FUNCTIONS[site.function].aggregate:
                answer = rank_groups if site.function == RANK else answer_groups
                answers = answer(relquery_of(wanted, site), opened, progress).answers
                return answers[: len(wanted.prompts)]
            folded = folded_of(wanted, site)
            answers = opened.ask_folded(
                folded, wanted.rows, enough=enough, announced=announced, progress=progress
            )
            return folded.spread(answers, NULL)[: len(wanted.prompts)]

    def _opened(self, site: CallSite) -> RelQueryInRounds:
        """The relQuery of a call site."""
        number = self.statement_number()
        with self._lock:
            if site not in self._relqueries:
                self._relqueries[site] = self.session.open(site, self.cancel, number, remembers=False)
            return self._relqueries[site]
