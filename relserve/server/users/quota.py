"""How many tokens each user has used in the last hour; pure, its clock is passed in."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable

HOUR_S = 3600.0
SLICE_S = 10.0  # tokens of one slice of time are kept as one number, and leave the hour together


class Quota:
    """Tokens of the last hour, by user's name. Safe for several threads.

    Args:
        clock: seconds that only grow, such as time.monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._slices: dict[str, deque[tuple[float, int]]] = {}  # by user: when a slice began, and its tokens
        self._lock = threading.Lock()

    def add(self, name: str, tokens: int) -> None:
        """Count tokens that a user has used now."""
        with self._lock:
            slices = self._recent(name)
            begun = self._clock() // SLICE_S * SLICE_S
            if slices and slices[-1][0] == begun:
                slices[-1] = begun, slices[-1][1] + tokens
            else:
                slices.append((begun, tokens))

    def used(self, name: str) -> int:
        """Tokens that a user has used in the last hour."""
        with self._lock:
            return sum(tokens for _, tokens in self._recent(name))

    def wait_s(self, name: str, limit: int) -> float:
        """Seconds until a user has fewer than `limit` tokens in the hour behind; inf where that is never."""
        with self._lock:
            slices = self._recent(name)
            used = sum(tokens for _, tokens in slices)
            if used < limit:
                return 0.0
            for begun, tokens in slices:
                used -= tokens
                if used < limit:
                    return begun + SLICE_S + HOUR_S - self._clock()
            return math.inf  # of a limit of 0

    def _recent(self, name: str) -> deque[tuple[float, int]]:
        slices = self._slices.setdefault(name, deque())
        while slices and slices[0][0] + SLICE_S + HOUR_S <= self._clock():
            slices.popleft()
        return slices
