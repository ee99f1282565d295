"""How far a resident process has got with its start, for whoever asks where the seconds go."""

from __future__ import annotations

import time


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
