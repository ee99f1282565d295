"""The log of a policy's decisions, which a thread of its own writes: a slow disk costs no step anything.

`relserve.policies.budget.log` says what is in it, and takes the decisions again.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from relserve.policies.budget import log as lines
from relserve.policies.budget.state import Budget, Ended, View, Work
from relserve.vllm_plugin.settings import SchedulerSettings

logger = logging.getLogger(__name__)

EVERY_S = 0.5
MOST_LINES = 10_000  # that wait for the disk; what comes then ends the log
MakeLine = Callable[[], str]


class DecisionLog:
    """Writes every event until the file is as large as it may be."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._writer = _Writer(path, most_bytes)
        self._end = weakref.finalize(self, self._writer.close)  # also at the interpreter's end
        threading.Thread(target=self._writer.run, name="relserve-steps", daemon=True).start()

    @classmethod
    def of(cls, settings: SchedulerSettings) -> DecisionLog | NoLog:
        """The log that an engine's settings ask for."""
        if not settings.step_log_path:
            return NoLog()
        return cls(Path(settings.step_log_path), round(settings.step_log_mb * 2**20))

    def began(self, name: str) -> None:
        """A policy decides from now on."""
        self._put(lambda: lines.began(name))

    def measured(self, work: Work, seconds: float) -> None:
        """A step has ended."""
        self._put(lambda: lines.measured(work, seconds))

    def ended(self, request: Ended) -> None:
        """A request has ended."""
        self._put(lambda: lines.ended(request))

    def chosen(self, view: View, budget: Budget) -> None:
        """A decision."""
        self._put(lambda: lines.chosen(view, budget))

    def close(self) -> None:
        """Write what there is, and no more."""
        self._end()

    def _put(self, make: MakeLine) -> None:
        if not self._writer.is_full:
            self._writer.waiting.append(make)


class NoLog:
    """Keeps nothing."""

    def began(self, name: str) -> None:
        """See `DecisionLog`."""

    def measured(self, work: Work, seconds: float) -> None:
        """See `DecisionLog`."""

    def ended(self, request: Ended) -> None:
        """See `DecisionLog`."""

    def chosen(self, view: View, budget: Budget) -> None:
        """See `DecisionLog`."""

    def close(self) -> None:
        """See `DecisionLog`."""


class _Writer:
    """What the scheduler's thread and the writing thread share."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self.path, self.most_bytes = path, most_bytes
        self.waiting: deque[MakeLine] = deque()
        self.closing, self.closed = threading.Event(), threading.Event()
        self.is_full = False
        self._num_bytes = 0

    def run(self) -> None:
        """Write what comes."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("w", encoding="utf-8") as file:
                while not self.closing.wait(EVERY_S) and not self.is_full:
                    self._write(file)
                self._write(file)
        except Exception as error:  # of any kind: a log must not end the engine
            logger.warning("no more decisions are logged in %s: %s", self.path, error)
        self.is_full = True
        self.waiting.clear()
        self.closed.set()

    def _write(self, file: TextIO) -> None:
        is_late = len(self.waiting) > MOST_LINES
        while self.waiting and not self.is_full:
            line = self.waiting.popleft()()
            if is_late or self._num_bytes + len(line) > self.most_bytes:
                self.is_full = True
                line = lines.full(self._num_bytes)
                logger.warning("the log of decisions %s is full: nothing more is kept", self.path)
            file.write(line)
            self._num_bytes += len(line)
        file.flush()

    def close(self) -> None:
        self.closing.set()
        self.closed.wait(1.0)
