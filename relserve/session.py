"""The session: asks the engine each distinct prompt of a relQuery once, gives typed answers in order."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from relserve.answers import Answer
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.errors import Cancelled, Failure, FailureKind, RelserveError, RowError
from relserve.forecast import Forecast, foretell
from relserve.history import ErrorRecord, History, QueryRecord
from relserve.relquery import RelQuery, Reply, Result, RowTimes, Sampling, Submission, Usage, phases_of

POLL_S = 0.05  # how often a waiting session looks at its cancel event
MAX_PROMPT_ON_RECORD = 500

Progress = Callable[[QueryRecord], None]


@dataclass
class Session:
    """Runs relQueries on engines; safe for several threads.

    Attributes:
        find_engine: gives the engine of a model name (None: the default model).
        history: where relQueries and failed rows are recorded.
    """

    find_engine: Callable[[str | None], Engine]
    history: History = field(default_factory=History)

    def run(
        self,
        relquery: RelQuery,
        cancel: threading.Event | None = None,
        progress: Progress | None = None,
        statement: int | None = None,
    ) -> Result:
        """Answer a relQuery.

        Args:
            relquery: what to ask.
            cancel: when set, the requests are aborted in the engine and Cancelled is raised.
            progress: called with the record after every batch of replies.
            statement: number of the SQL statement that asks; None: a new one.

        Returns:
            Answers in input order; a NULL input gives Answer(None).

        Raises:
            EngineError: the engine is not to be had.
            RowError: a row failed and on_error is 'raise'.
            Cancelled: `cancel` was set.
        """
        engine = self.find_engine(relquery.options.model)
        run = _Run(relquery, engine, self.history)
        run.record.statement = self.history.new_statement() if statement is None else statement
        self.history.begin(run.record)
        started = time.monotonic()
        try:
            if run.prompts:
                run.collect(cancel or threading.Event(), progress)
            run.record.state = "done"
        except BaseException as error:
            stopped = isinstance(error, (Cancelled, KeyboardInterrupt))
            run.record.state = "cancelled" if stopped else "failed"
            run.record.error = str(error) or type(error).__name__
            raise
        finally:
            run.record.seconds = time.monotonic() - started
        return Result(run.answers_in_order())

    def foretell(self, relquery: RelQuery) -> Forecast:
        """What running a relQuery would cost; asks nothing and starts no engine.

        Raises:
            ModelError: its model is not to be had.
        """
        engine = self.find_engine(relquery.options.model)
        run = _Run(relquery, engine, self.history)
        submission = run.submission()
        num_cached = getattr(self, "num_cached", None)  # a session that keeps answers counts them
        known = num_cached(submission) if num_cached is not None else None
        return foretell(engine, submission, run.record, self.history, known)


class _Run:
    """One relQuery on its way through an engine."""

    def __init__(self, relquery: RelQuery, engine: Engine, history: History) -> None:
        self.relquery, self.engine, self.history = relquery, engine, history
        weights = relquery.multiplicity or [1] * len(relquery.rows)
        number: dict[str, int] = {}
        self.prompt_of_row: list[int | None] = []
        self.weight: list[int] = []  # table rows that each distinct prompt stands for
        num_null = 0
        for prompt, weight in zip(relquery.prompts(), weights, strict=True):
            if prompt is None:
                self.prompt_of_row.append(None)
                num_null += weight
                continue
            i = number.setdefault(prompt, len(number))
            if i == len(self.weight):
                self.weight.append(0)
            self.weight[i] += weight
            self.prompt_of_row.append(i)
        self.prompts = list(number)
        self.answers: list[Answer | None] = [None] * len(self.prompts)
        self.times: list[RowTimes] = []
        self.record = QueryRecord(
            relquery.rel_id, relquery.function, relquery.binding.template.text, engine.model,
            relquery.num_rows, num_distinct=len(self.prompts), num_null=num_null,
        )  # fmt: skip

    def submission(self) -> Submission:
        options, kind = self.relquery.options, self.relquery.answer_type
        sampling = Sampling(
            options.max_tokens or kind.default_max_tokens, options.temperature, options.top_p,
            options.seed, options.stop, kind.grammar,
        )  # fmt: skip
        return Submission(self.relquery.rel_id, self.prompts, sampling, options.system)

    def collect(self, cancel: threading.Event, progress: Progress | None) -> None:
        """Take replies until each prompt has its answer."""
        inbox: queue.SimpleQueue[list[Reply] | None] = queue.SimpleQueue()
        future = spawn(_pump(self.engine, self.submission(), inbox))
        try:
            while (replies := _next(inbox, future, cancel)) is not None:
                for reply in replies:
                    self.take(reply)
                if progress is not None:
                    progress(self.record)
        except BaseException:
            _abort(future)
            raise
        finally:
            self.record.phases = phases_of(self.times)
        future.result()
        if missing := self.answers.count(None):
            raise RelserveError(f"the engine left {missing} of {len(self.prompts)} prompts without a reply")

    def take(self, reply: Reply) -> None:
        """Turn one reply into an answer and put it on record."""
        if reply.failure is not None or reply.text is None:
            answer = Answer(None, reply.failure or Failure(FailureKind.ENGINE, "no reply"))
        else:
            answer = self.relquery.answer_type.parse(reply.text)
        self.answers[reply.index] = answer
        self.record.num_done += 1
        self.record.num_rows_done += self.weight[reply.index]
        self.record.usage = Usage(*map(sum, zip(self.record.usage, reply.usage, strict=True)))
        if reply.times is not None:
            self.times.append(reply.times)
        if answer.failure is not None:
            self.fail(reply.index, answer.failure)

    def fail(self, index: int, failure: Failure) -> None:
        self.record.num_failed += self.weight[index]
        shown = self.prompts[index][:MAX_PROMPT_ON_RECORD]
        self.history.fail(
            ErrorRecord(
                self.relquery.rel_id, self.relquery.function, failure, shown, self.weight[index],
                self.record.statement,
            )
        )  # fmt: skip
        if self.relquery.options.on_error == "raise":
            raise RowError(f"{self.relquery.function}(): {failure.message}; the prompt begins {shown[:80]!r}")

    def answers_in_order(self) -> list[Answer]:
        null = Answer(None)
        done: list[Any] = self.answers
        return [null if i is None else done[i] for i in self.prompt_of_row]


async def _pump(engine: Engine, submission: Submission, inbox: queue.SimpleQueue[list[Reply] | None]) -> None:
    """Carry replies from the engine loop to the waiting session; None ends the stream."""
    try:
        async for replies in engine.answer(submission):
            inbox.put(replies)
    finally:
        inbox.put(None)


def _next(
    inbox: queue.SimpleQueue[list[Reply] | None], future: Future[None], cancel: threading.Event
) -> list[Reply] | None:
    while True:
        if cancel.is_set():
            raise Cancelled("the query was interrupted; its requests were aborted")
        try:
            return inbox.get(timeout=POLL_S)
        except queue.Empty:
            if future.done() and inbox.empty():
                return None


def _abort(future: Future[None]) -> None:
    """Cancel the pump, which aborts the requests in the engine; the caller does not wait for it."""
    future.cancel()
