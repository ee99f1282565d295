"""The session: asks the engine each distinct prompt of a relQuery once, gives typed answers in order."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from relserve.cache.cache import AnswerCache
from relserve.call.answer_types import Answer, judge_cut
from relserve.call.relquery import RelQuery, Reply, Result, RowTimes, Sampling, Submission, Usage, phases_of
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.errors import Cancelled, EngineError, Failure, FailureKind, RelserveError, RowError
from relserve.session.cached_answers import CachedAnswers
from relserve.session.estimate import Estimate, estimate
from relserve.session.history import ErrorRecord, History, QueryRecord

POLL_S = 0.05  # how often a waiting session looks at its cancel event
MAX_PROMPT_ON_RECORD = 500

Progress = Callable[[QueryRecord], None]
Enough = Callable[[list[Answer | None]], bool]  # by distinct prompt; None: no answer yet
UNASKED = Answer(None)  # stands for an answer that was not waited for


@dataclass
class Session:
    """Runs relQueries on engines; safe for several threads.

    Attributes:
        find_engine: gives the engine of a model name (None: the default model).
        history: where relQueries and failed rows are recorded.
        cache: where answers are kept from one process to the next; None: nowhere.
        sorts: send prompts in the order of their texts, so that those with a common beginning follow each
            other and the prefix cache serves it; off, in the order of the rows. Answers are the same.
    """

    find_engine: Callable[[str | None], Engine]
    history: History = field(default_factory=History)
    cache: AnswerCache | None = None
    sorts: bool = True

    def run(
        self,
        relquery: RelQuery,
        cancel: threading.Event | None = None,
        progress: Progress | None = None,
        enough: Enough | None = None,
        statement: int | None = None,
    ) -> Result:
        """Answer a relQuery.

        Args:
            relquery: what to ask.
            cancel: when set, the requests are aborted in the engine and Cancelled is raised.
            progress: called with the record after every batch of replies.
            enough: called with the answers after every batch; when it says so the rest is aborted in the
                engine, and those answers are UNASKED.
            statement: number of the SQL statement that asks; None: a new one.

        Returns:
            Answers in input order; a NULL input gives Answer(None).

        Raises:
            EngineError: the engine is not to be had, or tells no probabilities for min_confidence.
            RowError: a row failed and on_error is 'raise'.
            Cancelled: `cancel` was set.
        """
        engine = self.find_engine(relquery.options.model)
        run = _Run(relquery, engine, self.history, self.cache)
        run.record.statement = self.history.new_statement() if statement is None else statement
        self.history.begin(run.record)
        started = time.monotonic()
        try:
            if run.prompts:
                run.answer(cancel or threading.Event(), progress, enough, self.sorts)
            run.record.state = "done"
        except BaseException as error:
            stopped = isinstance(error, (Cancelled, KeyboardInterrupt))
            run.record.state = "cancelled" if stopped else "failed"
            run.record.error = str(error) or type(error).__name__
            raise
        finally:
            run.record.seconds = time.monotonic() - started
        return Result(run.answers_in_order())

    def estimate(self, relquery: RelQuery, cancel: threading.Event | None = None) -> Estimate:
        """What running a relQuery would cost; asks nothing and starts no engine.

        Raises:
            ModelError: its model is not to be had.
            Cancelled: `cancel` was set while a server was asked which model it has.
        """
        engine = self.find_engine(relquery.options.model)
        run = _Run(relquery, engine, self.history, self.cache)
        num_cached = None
        with suppress(EngineError):  # a server that is not up does not tell which model it has
            num_cached = run.cached.count(cancel or threading.Event())
        sent = sorted(run.prompts) if self.sorts else run.prompts
        submission = replace(run.submission(), prompts=sent)
        return estimate(engine, submission, run.record, self.history, num_cached)


class _Run:
    """One relQuery on its way through an engine."""

    def __init__(
        self, relquery: RelQuery, engine: Engine, history: History, cache: AnswerCache | None
    ) -> None:
        self.relquery, self.engine, self.history = relquery, engine, history
        weights = relquery.multiplicity or [1] * len(relquery.rows)
        splits = relquery.may_split or [False] * len(relquery.rows)
        number: dict[str, int] = {}
        self.prompt_of_row: list[int | None] = []
        self.weight: list[int] = []  # table rows that each distinct prompt stands for
        self.may_split: set[int] = set()  # prompts that the caller asks in parts if they are too long
        num_null = 0
        for prompt, weight, split in zip(relquery.prompts(), weights, splits, strict=True):
            if prompt is None:
                self.prompt_of_row.append(None)
                num_null += weight
                continue
            i = number.setdefault(prompt, len(number))
            if i == len(self.weight):
                self.weight.append(0)
            self.weight[i] += weight
            self.prompt_of_row.append(i)
            if split:
                self.may_split.add(i)
        self.prompts = list(number)
        self.answers: list[Answer | None] = [None] * len(self.prompts)
        self.times: list[RowTimes] = []
        self.record = QueryRecord(
            relquery.rel_id, relquery.function, relquery.binding.template.text, engine.model,
            relquery.num_rows, num_distinct=len(self.prompts), num_null=num_null,
        )  # fmt: skip
        kept = cache if relquery.options.min_confidence is None else None  # no confidence is kept there
        self.cached = CachedAnswers(kept, engine, self.submission())
        self.todo: list[int] = []  # prompts for the engine, by their numbers in `prompts`

    def submission(self) -> Submission:
        options, kind = self.relquery.options, self.relquery.answer_type
        sampling = Sampling(
            options.max_tokens or kind.default_max_tokens, options.temperature, options.top_p,
            options.seed, options.stop, kind.grammar, options.min_confidence is not None,
        )  # fmt: skip
        return Submission(self.relquery.rel_id, self.prompts, sampling, options.system)

    def answer(
        self, cancel: threading.Event, progress: Progress | None, enough: Enough | None, sorts: bool
    ) -> None:
        """Take what the cache has, then ask the engine for the rest."""
        for reply in self.cached.find(cancel):
            if (answer := self.parsed(reply)).failure is None:
                self.take(reply.index, reply, answer)
                self.record.num_cached += 1
        self.todo = [i for i, answer in enumerate(self.answers) if answer is None]
        if sorts:
            self.todo.sort(key=self.prompts.__getitem__)
        if self.record.num_cached and progress is not None:
            progress(self.record)
        if self.todo and not self.suffices(enough):
            self.collect(cancel, progress, enough)

    def collect(self, cancel: threading.Event, progress: Progress | None, enough: Enough | None) -> None:
        """Take the engine's replies until each prompt has its answer."""
        submission = replace(self.submission(), prompts=[self.prompts[i] for i in self.todo])
        inbox: queue.SimpleQueue[list[Reply] | None] = queue.SimpleQueue()
        future = spawn(_pump(self.engine, submission, inbox))
        try:
            while (replies := _next(inbox, future, cancel)) is not None:
                self.cached.confirm(cancel)
                parsed = self.keep(replies)
                for reply, answer in zip(replies, parsed, strict=True):
                    self.take(self.todo[reply.index], reply, answer)
                if progress is not None:
                    progress(self.record)
                if self.suffices(enough):
                    _abort(future)
                    self.keep_rest(inbox)
                    return
        except BaseException:
            _abort(future)
            self.keep_rest(inbox)
            raise
        finally:
            self.record.phases = phases_of(self.times)
        future.result()
        if missing := self.answers.count(None):
            raise RelserveError(f"the engine left {missing} of {len(self.prompts)} prompts without a reply")

    def suffices(self, enough: Enough | None) -> bool:
        """Whether the answers that are there will do; then the others are UNASKED."""
        if enough is None or None not in self.answers or not enough(self.answers):
            return False
        self.answers = [UNASKED if each is None else each for each in self.answers]
        return True

    def parsed(self, reply: Reply) -> Answer:
        """The answer that a reply is."""
        if reply.failure is not None or reply.text is None:
            return Answer(None, reply.failure or Failure(FailureKind.ENGINE, "no reply"))
        answer = self.relquery.answer_type.parse(reply.text)
        if reply.cut:
            answer = judge_cut(answer, reply.text, self.relquery.answer_type.grammar)
        return self.if_sure(answer, reply.confidence)

    def keep(self, replies: list[Reply]) -> list[Answer]:
        """Put good replies into the cache, before any of them can fail the query; gives all as answers."""
        parsed = [self.parsed(reply) for reply in replies]
        if self.cached.keeps:
            both = zip(replies, parsed, strict=True)
            good = [reply for reply, answer in both if answer.failure is None]
            self.cached.keep((self.todo[reply.index], reply) for reply in good)
        return parsed

    def keep_rest(self, inbox: queue.SimpleQueue[list[Reply] | None]) -> None:
        """Put into the cache what came in time, so that the next query need not ask it again."""
        while not inbox.empty():
            self.keep(inbox.get() or [])

    def take(self, index: int, reply: Reply, answer: Answer) -> None:
        """Put the answer of a prompt on record."""
        self.answers[index] = answer
        self.record.num_done += 1
        self.record.num_rows_done += self.weight[index]
        self.record.usage = Usage(*map(sum, zip(self.record.usage, reply.usage, strict=True)))
        if reply.times is not None:
            self.times.append(reply.times)
        if answer.failure is not None:
            self.fail(index, answer.failure)

    def if_sure(self, answer: Answer, confidence: float | None) -> Answer:
        """The answer, or a failure where the model gave it a probability below min_confidence.

        Raises:
            EngineError: the engine tells no probabilities.
        """
        least = self.relquery.options.min_confidence
        if least is None or answer.failure is not None:
            return answer
        if confidence is None:
            raise EngineError(
                f"{self.relquery.function}() has min_confidence, but {self.engine.model} tells no "
                "probabilities of its answers; leave min_confidence out or name another model"
            )
        if confidence >= least:
            return answer
        said = f"the model gave {answer.value!r} a probability of {confidence:.4g}, "
        said += f"min_confidence is {least:g}"
        return Answer(None, Failure(FailureKind.LOW_CONFIDENCE, said))

    def fail(self, index: int, failure: Failure) -> None:
        if failure.kind is FailureKind.OVER_CONTEXT and index in self.may_split:
            return
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
