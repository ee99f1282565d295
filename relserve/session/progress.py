"""How far a relQuery is: a bar on a terminal or in a notebook, a line now and then where neither is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from relserve.session.history import QueryRecord
from relserve.session.waiting_line import waiting_line

DELAY_S = 0.3  # a relQuery done sooner shows nothing
LINE_EVERY_S = 10.0  # between lines where there is no terminal, over all relQueries of the process
BAR = "{percentage:3.0f}%|{bar:20}| {elapsed}<{remaining} {desc}"

Progress = Callable[[QueryRecord], None]  # told how far a relQuery is

_last_line_s = float("-inf")  # of time.monotonic()


class _Display(Protocol):
    def update(self, record: QueryRecord) -> None:
        """Show how far a relQuery is."""

    def close(self) -> None:
        """It ended, one way or another."""


@contextmanager
def bar(wanted: bool | None) -> Iterator[Progress | None]:
    """What `Session.run` calls after every batch of replies; None where nobody looks.

    Args:
        wanted: True and False decide; None shows a bar on a terminal or in a notebook. True writes lines
            where there is neither.
    """
    looks = _somebody_looks()
    if wanted is False or (wanted is None and not looks):
        yield None
        return
    shown: _Display = _Bar() if looks else _Lines()
    try:
        yield shown.update
    finally:
        shown.close()


class _Bar:
    """One line that changes in place and is gone when the relQuery is done.

    Its length and the time left go by prompts, which is what takes time; rows are told in words. Until the
    first reply it tells how long that is waited for: an engine may have to start.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._pace = TokenPace()
        self._waiting = ExitStack()
        self._waiting.enter_context(waiting_line("waiting for the first answer", DELAY_S))

    def update(self, record: QueryRecord) -> None:
        self._waiting.close()
        if self._bar is None:
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=record.num_distinct, initial=record.num_done, bar_format=BAR, leave=False,
                delay=DELAY_S,
            )  # fmt: skip
        said = words(record, self._pace.tokens_a_second(record))
        self._bar.set_description_str(said, refresh=False)
        self._bar.total = record.num_distinct  # each round adds its own
        self._bar.update(record.num_done - self._bar.n)

    def close(self) -> None:
        self._waiting.close()
        if self._bar is not None:
            self._bar.close()


class _Lines:
    """A line every LINE_EVERY_S seconds, and one at the end where the last is longer ago than that."""

    def __init__(self) -> None:
        self._record: QueryRecord | None = None
        self._started_s, self._num_before = 0.0, 0
        self._pace = TokenPace()

    def update(self, record: QueryRecord) -> None:
        if self._record is None:  # not before: an engine may have had to start
            self._started_s, self._num_before = time.monotonic(), record.num_done
        self._record = record
        self._pace.tokens_a_second(record)
        if time.monotonic() - max(_last_line_s, self._started_s) >= LINE_EVERY_S:
            self._write(record)

    def close(self) -> None:
        now_s = time.monotonic()
        if (
            self._record is not None
            and now_s - self._started_s >= DELAY_S
            and now_s - _last_line_s >= LINE_EVERY_S
        ):
            self._write(self._record)

    def _write(self, record: QueryRecord) -> None:
        global _last_line_s
        _last_line_s = time.monotonic()
        spent_s = _last_line_s - self._started_s
        num_left, num_done = record.num_distinct - record.num_done, record.num_done - self._num_before
        left = f", about {spent_s * num_left / num_done:.0f} s left" if num_left and num_done else ""
        said = words(record, self._pace.tokens_a_second(record))
        sys.stderr.write(f"relserve: {said}{left}\n")


class TokenPace:
    """Tokens a second since the first replies came, so that an engine's start does not count."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def tokens_a_second(self, record: QueryRecord) -> float | None:
        """Prompt and output tokens together; None before two looks."""
        now = time.monotonic(), record.usage.prompt_tokens + record.usage.output_tokens
        if self._first is None:
            self._first = now
        seconds, tokens = now[0] - self._first[0], now[1] - self._first[1]
        return tokens / seconds if seconds > 0 and tokens > 0 else None


def words(record: QueryRecord, tokens_a_second: float | None) -> str:
    """How far it is: "llm() 4,012/10,000 rows, 5,200 tokens/s, 3 failed"."""
    num_done = min(record.num_rows, record.num_null + record.num_rows_done)
    parts = [f"{record.function}() {num_done:,}/{record.num_rows:,} rows"]
    if tokens_a_second is not None:
        parts.append(f"{tokens_a_second:,.0f} tokens/s")
    if record.num_failed:
        parts.append(f"{record.num_failed:,} failed")
    if (standing := record.standing) is not None:
        about = "" if standing.estimate_s is None else f", about {standing.estimate_s:,.0f} s"
        parts.append(f"{standing.num_waiting:,} wait to be admitted{about}")
    return ", ".join(parts)


def _somebody_looks() -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
