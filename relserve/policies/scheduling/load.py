"""The load that comes: seconds of work a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

LOOK_BACK = 32  # arrivals


class ArrivingLoad:
    """Engine seconds that come in a second, if every relQuery had the engine for itself.

    So much is to be shared for those that come to be served at all: at 1 or less each could be served alone,
    one after the other. A second that is saved now is worth so many seconds to those that will come.
    """

    def __init__(self) -> None:
        self._arrivals: deque[tuple[float, float]] = deque(maxlen=LOOK_BACK)

    def add(self, arrivals: Iterable[tuple[float, float]]) -> None:
        """relQueries have come: when, and how long each takes alone."""
        self._arrivals.extend(arrivals)

    def of(self, now_s: float, ahead_s: float) -> float:
        """The load, at least 1, when the engine has work for so many seconds."""
        if not self._arrivals:
            return 1.0
        span_s = max(now_s - self._arrivals[0][0], ahead_s)
        came_s = sum([alone_s for _, alone_s in self._arrivals])
        return max(came_s / span_s, 1.0) if span_s > 0 else 1.0
