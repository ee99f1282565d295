"""The record of one relQuery, kept up over all of its rounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relserve.cache.kept_usage import UsageCounts
from relserve.call.answer_types import Answer
from relserve.call.phases import Phases
from relserve.call.relquery import Reply, Usage
from relserve.call.standing import Standing
from relserve.errors import Cancelled, Failure
from relserve.prices.price import HourPrice, TokenPrice
from relserve.session.history import ErrorRecord, History, QueryRecord

MAX_PROMPT_ON_RECORD = 500


class Recorder:
    """Fills in the record of one relQuery; safe for several threads.

    Attributes:
        record: as `llm_queries()` shows it: 'running' while a round is under way, else how the rounds ended.
            Its seconds and phases are those of the rounds, added up: the time between two rounds, in which
            nothing was asked, does not count.
    """

    def __init__(self, history: History, record: QueryRecord, kind: str = "") -> None:
        self.record, self._history, self._kind = record, history, kind
        self._lock = threading.Lock()
        self._num_asking = 0  # rounds under way
        self._began_s = self._asked_s = 0.0
        self._end: tuple[str, str | None] = "done", None  # state and error, once no round is under way
        self._is_closed, self._billed = False, 0.0
        history.begin(record)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A round is under way: its time counts, and the error that ends it is on record."""
        with self._lock:
            if not self._num_asking:
                self._began_s, self.record.state = time.monotonic(), "running"
            self._num_asking += 1
        try:
            yield
        except BaseException as error:
            self._end = _end_by(error)
            raise
        finally:
            with self._lock:
                self._num_asking -= 1
                if not self._num_asking:
                    self._asked_s += time.monotonic() - self._began_s
                    self._bill_time()
                    self.record.standing = None
                    self._tell_end()

    def add_rows(self, num_rows: int, num_null: int, num_distinct: int) -> None:
        """A round asks for so many table rows, so many of them NULL, and so many prompts not asked before."""
        with self._lock:
            self.record.num_rows += num_rows
            self.record.num_null += num_null
            self.record.num_distinct += num_distinct

    def add_replies(self, num_prompts: int, num_cached: int, num_rows: int, usage: Usage) -> None:
        """So many prompts, so many of them from the cache, and their table rows have a reply."""
        record = self.record
        with self._lock:
            record.num_done += num_prompts
            record.num_cached += num_cached
            record.num_rows_done += num_rows
            record.usage = Usage.total((record.usage, usage))

    def spent(self, replies: Sequence[Reply], num_bytes: int, num_rows: int | None = None) -> None:
        """The engine gave replies to prompts of so many bytes.

        Args:
            num_rows: rows that they are about, where they are not one each.
        """
        if not replies:
            return
        record, price = self.record, self.record.price
        used = Usage(*map(sum, zip(*(reply.usage for reply in replies), strict=True)))
        num = len(replies) if num_rows is None else num_rows
        cost = 0.0
        if isinstance(price, TokenPrice):
            cost = sum(price.cost(reply.usage) for reply in replies)
            with self._lock:
                record.token_cost += cost
        counts = UsageCounts(num, num_bytes, *used[:3], cost, num if price is None else 0)
        self._history.spend(record, self._kind, counts)

    def saw(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """A batch of answers, and see `Habit.add`: how sure they are, and perhaps a habit of the model's."""
        record = self.record
        with self._lock:
            if record.sureness is not None:
                record.sureness.add(answers)
            if record.habit is not None:
                record.habit.add(replies, answers)

    def stands(self, standing: Standing | None) -> None:
        """Where rows stand that wait to be admitted; None: none waits."""
        self.record.standing = standing if standing is not None and standing.num_waiting else None

    def fail(self, prompt: str, num_rows: int, failure: Failure) -> None:
        """A prompt that stands for so many table rows failed."""
        with self._lock:
            self.record.num_failed += num_rows
            self.record.failed[failure.kind] += num_rows
        record, shown = self.record, prompt[:MAX_PROMPT_ON_RECORD]
        self._history.fail(
            ErrorRecord(record.rel_id, record.function, failure, shown, num_rows, record.statement)
        )

    def add_phases(self, phases: Phases | None) -> None:
        """The phases of a round, where the engine told them."""
        if phases is not None:
            with self._lock:
                before = self.record.phases or Phases(0.0, 0.0, 0.0)
                self.record.phases = Phases(*map(sum, zip(before, phases, strict=True)))

    def close(self, error: BaseException | None = None) -> None:
        """No round follows; `error` ended the relQuery between two rounds. Further calls do nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                if error is not None and self._end[0] == "done":
                    self._end = _end_by(error)
                if not self._num_asking:
                    self._tell_end()

    def _bill_time(self) -> None:
        """Add up what the time so far cost, where it is by the hour."""
        record = self.record
        if isinstance(record.price, HourPrice):
            record.seconds = self._asked_s
            cost = record.cost or 0.0
            self._history.spend(record, self._kind, UsageCounts(cost=cost - self._billed))
            self._billed = cost

    def _tell_end(self) -> None:
        self.record.seconds = self._asked_s
        self.record.state, self.record.error = self._end


def _end_by(error: BaseException) -> tuple[str, str]:
    """The state and the error on record; the exception itself would keep all that its traceback holds."""
    stopped = isinstance(error, (Cancelled, KeyboardInterrupt))
    return "cancelled" if stopped else "failed", str(error) or type(error).__name__
