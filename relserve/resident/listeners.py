"""Those who wait for a resident engine, what it announces to them, and how far its start has got."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator


class Listeners:
    """Takes what an engine announces: to its log, and to each client that waits."""

    def __init__(self) -> None:
        self._tell: dict[object, Callable[[str], None]] = {}

    def say(self, text: str) -> None:
        """Announce something; on the engine loop."""
        sys.stderr.write(f"{time.strftime('%F %T')} relserve: {text}\n")
        sys.stderr.flush()
        for tell in list(self._tell.values()):
            tell(text)

    @contextlib.contextmanager
    def listening(self, tell: Callable[[str], None]) -> Iterator[None]:
        """While inside, `tell` hears what is announced."""
        key = object()
        self._tell[key] = tell
        try:
            yield
        finally:
            del self._tell[key]


class Milestones:
    """Seconds from when a client asked for the process until it had got so far, by name.

    "listening": clients can connect. "forked": vLLM is imported and configured, its engine's process begins.
    "ready": the engine is up.

    Args:
        asked: when, in seconds of the wall clock; the client is another process.
    """

    def __init__(self, asked: float) -> None:
        self._asked = asked
        self.seconds: dict[str, float] = {}

    def reach(self, name: str) -> None:
        """Note that it has got so far; later times do not count."""
        self.seconds.setdefault(name, round(time.time() - self._asked, 3))
