"""What happened since the server started, counted by whichever thread it happened in."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

# Upper bounds in seconds, up to those of llm queries; what took longer counts in a last, open one.
BOUNDS_S = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0,
)  # fmt: skip


class OpenAICounts(NamedTuple):
    """Requests of OpenAI clients at one moment.

    Attributes:
        running: by user.
        ended: by user and status.
        tokens: by user and kind, "prompt" or "output".
        seconds: of all that ended, by user.
    """

    running: dict[str, int]
    ended: dict[tuple[str, int], int]
    tokens: dict[tuple[str, str], int]
    seconds: dict[str, float]


class RequestCounters:
    """Counts requests of OpenAI clients; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running, self._ended = Counter[str](), Counter[tuple[str, int]]()
        self._tokens, self._seconds = Counter[tuple[str, str]](), dict[str, float]()

    def begun(self, user: str) -> None:
        """A request of a known user has come."""
        with self._lock:
            self._running[user] += 1

    def spent(self, user: str, prompt: int, output: int) -> None:
        """It has had so many tokens."""
        with self._lock:
            self._tokens[user, "prompt"] += prompt
            self._tokens[user, "output"] += output

    def ended(self, user: str, status: int, seconds: float) -> None:
        """A request has ended, or was refused."""
        with self._lock:
            self._running[user] = max(self._running[user] - 1, 0)  # of an unknown user none began
            self._ended[user, status] += 1
            self._seconds[user] = self._seconds.get(user, 0.0) + seconds

    def read(self) -> OpenAICounts:
        """What was counted so far."""
        with self._lock:
            return OpenAICounts(
                dict(self._running), dict(self._ended), dict(self._tokens), dict(self._seconds)
            )


class CounterValues(NamedTuple):
    """The counters at one moment.

    Attributes:
        refused: connections turned away before they were ready: a wrong password, too many clients.
        rows: rows sent to clients.
        errors: statements that ended with an error, by SQLSTATE.
        buckets: statements by their seconds: the i-th holds those of at most `BOUNDS_S[i]`, and more than the
            bound before.
        seconds: of all statements together.
    """

    connections: int
    refused: int
    rows: int
    errors: dict[str, int]
    buckets: tuple[int, ...]
    seconds: float

    @property
    def statements(self) -> int:
        """Statements that ended, one way or another."""
        return sum(self.buckets)


class Counters:
    """Counts connections and statements; safe for several threads.

    Attributes:
        requests: of OpenAI clients.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = RequestCounters()
        self._connections = self._refused = self._rows = 0
        self._errors: Counter[str] = Counter()
        self._buckets = [0] * (len(BOUNDS_S) + 1)
        self._seconds = 0.0

    def connected(self) -> None:
        """A client is ready for its first statement."""
        with self._lock:
            self._connections += 1

    def refused(self) -> None:
        """A client was turned away before it was ready."""
        with self._lock:
            self._refused += 1

    def statement_ended(self, seconds: float, rows: int = 0, sqlstate: str | None = None) -> None:
        """A statement ended after so many seconds, with so many rows sent, or with an error."""
        with self._lock:
            self._buckets[bisect_left(BOUNDS_S, seconds)] += 1
            self._seconds += seconds
            self._rows += rows
            if sqlstate is not None:
                self._errors[sqlstate] += 1

    def read(self) -> CounterValues:
        """What was counted so far, all of one moment."""
        with self._lock:
            return CounterValues(
                self._connections, self._refused, self._rows, dict(self._errors), tuple(self._buckets),
                self._seconds,
            )  # fmt: skip
