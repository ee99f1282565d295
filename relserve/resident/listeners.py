"""Those who wait for a resident engine, and hear what it announces."""

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
