"""The load that comes: seconds of work a second."""

from __future__ import annotations

from collections import OrderedDict

LOOK_BACK = 32  # arrivals


class ArrivingLoad:
    """Engine seconds that come in a second, if every relQuery had the engine for itself.

    So much is to be shared for those that come to be served at all: at 1 or less each could be served alone,
    one after the other. A second that is saved now is worth so many seconds to those that will come.
    """

    def __init__(self) -> None:
        self._arrivals: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def add(self, rel_id: str, arrival_s: float, alone_s: float) -> None:
        """A relQuery has come that takes so long alone, or is found to take longer than was known."""
        _, known_s = self._arrivals.get(rel_id, (arrival_s, 0.0))
        self._arrivals[rel_id] = arrival_s, max(alone_s, known_s)
        if len(self._arrivals) > LOOK_BACK:
            self._arrivals.popitem(last=False)

    def clear(self) -> None:
        """Forget all that came."""
        self._arrivals.clear()

    def of(self, now_s: float, ahead_s: float) -> float:
        """The load, at least 1, when the engine has work for so many seconds."""
        if not self._arrivals:
            return 1.0
        first_s, _ = next(iter(self._arrivals.values()))
        span_s = max(now_s - first_s, ahead_s)
        came_s = sum([alone_s for _, alone_s in self._arrivals.values()])
        return max(came_s / span_s, 1.0) if span_s > 0 else 1.0
