"""One statement on its way: its answers, the prompts it skips, its cancel event, what the user was told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relserve.call.answer_types import Answer
from relserve.call.options import FUNCTIONS
from relserve.call.relquery import RelQuery, Result
from relserve.errors import Cancelled
from relserve.session.aggregate import answer_groups
from relserve.session.session import UNASKED, Enough, Session
from relserve_duckdb.udf.client import Client
from relserve_duckdb.udf.memo import Memo, Wanted
from relserve_duckdb.udf.skipped import SkippedPrompts


@dataclass
class Execution:
    """What one call of the user's runs: a text of several statements, or a relation that is read.

    Attributes:
        cancel: set when the user interrupts.
        number: of the statement in llm_queries(), once something was asked.
        is_news: whether something was asked since failed rows were last looked for.
        was_warned: whether the user was told that rows failed.
    """

    cancel: threading.Event = field(default_factory=threading.Event)
    number: int | None = None
    is_news: bool = False
    was_warned: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, new_number: Callable[[], int]) -> int:
        """Note that something is asked; the number of the statement."""
        with self._lock:  # DuckDB's threads may come together
            if self.number is None:
                self.number = new_number()
            self.is_news = True
            return self.number


class StatementRun:
    """One statement, from its first rehearsal until the next statement starts.

    Attributes:
        execution: what it belongs to; a result that is still read goes on under the user's next call.
        memo: its answers.
        skipped: its prompts that need no answer.
    """

    def __init__(
        self,
        session: Session,
        client: Client,
        execution: Execution,
        keeps_answers: bool,
        count_changes: Callable[[], int | None],
    ) -> None:
        self.session, self.client, self.execution = session, client, execution
        self.memo = Memo(keeps_answers)
        self.skipped = SkippedPrompts(count_changes)

    @property
    def cancel(self) -> threading.Event:
        return self.execution.cancel

    def check_cancel(self) -> None:
        """Raise Cancelled if the statement was interrupted."""
        if self.cancel.is_set():
            raise Cancelled("the query was interrupted")

    def ask(self, wanted: Wanted) -> Sequence[Any]:
        """Have the session answer; the values in order."""
        return [answer.value for answer in self._answers_to(wanted)]

    def remember(self, wanted: Wanted, enough: Enough | None = None) -> None:
        """Ask and keep the answers for the calls to come; see `Session.run` for `enough`."""
        came = zip(wanted.prompts, self._answers_to(wanted, enough), strict=True)
        known = self.memo.known(wanted.site)
        known.update((prompt, answer.value) for prompt, answer in came if answer is not UNASKED)

    def warn(self) -> None:
        """Tell the user, once for all statements of a call of theirs, that rows failed."""
        execution = self.execution
        if execution.is_news and not execution.was_warned:
            execution.is_news = False
            number = execution.number or 0
            execution.was_warned = self.client.warn_of_failures(self.session.history, number)

    def _answers_to(self, wanted: Wanted, enough: Enough | None = None) -> Sequence[Answer]:
        relquery = wanted.site.relquery(wanted.rows, wanted.multiplicity)
        if FUNCTIONS[relquery.function].aggregate:
            return answer_groups(relquery, self._run).answers
        return self._run(relquery, enough).answers

    def _run(self, relquery: RelQuery, enough: Enough | None = None) -> Result:
        number = self.execution.ask(self.session.history.new_statement)
        with self.client.progress() as progress:
            return self.session.run(relquery, self.cancel, progress, enough, number)
