"""What a client hears while its statement runs: how far its llm calls are, and which rows failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Protocol

from relserve_duckdb import NoVariables

from relserve.session.history import History, QueryRecord
from relserve.session.notices import constant_text, habits, summary
from relserve.session.progress import Progress, TokenPace, words

FIRST_S, EVERY_S = 3.0, 10.0  # until the first line about a relQuery, and between two


class Say(Protocol):
    """Sends a notice."""

    def __call__(self, severity: str, text: str, sqlstate: str | None = None) -> None:
        """Without an SQLSTATE a notice has that of its severity: 01000 of a warning, 00000 of others."""


class WireClient:
    """A `Client` (relserve_duckdb): its lines become PostgreSQL's notices.

    Args:
        say: sends a notice.
    """

    def __init__(self, say: Say) -> None:
        self._say = say

    def variables(self, frame: FrameType) -> NoVariables:
        """There are none: a text names no Python variables of the server."""
        return NoVariables()

    def watching(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        """Nobody to watch: the server interrupts when the client asks for it."""
        return nullcontext()

    def notice(self, text: str) -> None:
        """Tell the client a line."""
        self._say("NOTICE", text)

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """A notice after some seconds, and then now and then."""
        yield _Lines(self._say).update

    def warn_of_failures(self, history: History, statement: int) -> bool:
        """A warning; see `Teller`."""
        for line in habits(history, statement):
            self._say("NOTICE", line)
        text = summary(history, statement)
        if text:
            self._say("WARNING", text)
        return bool(text)

    def warn_of_constant(self, function: str) -> None:
        """A warning; see `Client`."""
        self._say("WARNING", constant_text(function))


class _Lines:
    def __init__(self, say: Say) -> None:
        self._say, self._pace = say, TokenPace()
        self._next_s = time.monotonic() + FIRST_S

    def update(self, record: QueryRecord) -> None:
        """See `Progress`."""
        pace = self._pace.tokens_a_second(record)
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + EVERY_S
            self._say("NOTICE", words(record, pace))
