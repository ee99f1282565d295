"""How many tokens each user has used in the last minute, hour and day; pure, its clock is passed in."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class Window(NamedTuple):
    """A length of time over which tokens are counted; those of one slice of it leave it together."""

    name: str
    seconds: float
    slice_s: float

    def __str__(self) -> str:
        return f"{'an' if self.name == 'hour' else 'a'} {self.name}"


MINUTE, HOUR, DAY = Window("minute", 60.0, 1.0), Window("hour", 3600.0, 10.0), Window("day", 86400.0, 240.0)
WINDOWS = (MINUTE, HOUR, DAY)
Slices = deque[tuple[float, int]]  # when a slice began, and its tokens


class Quota:
    """Tokens of the last minute, hour and day, by user's name. Safe for several threads.

    Args:
        clock: seconds that only grow, such as time.monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._slices: dict[tuple[str, Window], Slices] = {}
        self._lock = threading.Lock()

    def add(self, name: str, tokens: int) -> None:
        """Count tokens that a user has used now."""
        with self._lock:
            for window in WINDOWS:
                slices = self._recent(name, window)
                begun = self._clock() // window.slice_s * window.slice_s
                if slices and slices[-1][0] == begun:
                    slices[-1] = begun, slices[-1][1] + tokens
                else:
                    slices.append((begun, tokens))

    def used(self, name: str, window: Window = HOUR) -> int:
        """Tokens that a user has used lately."""
        with self._lock:
            return sum(tokens for _, tokens in self._recent(name, window))

    def wait_s(self, name: str, limit: int, window: Window = HOUR) -> float:
        """Seconds until a user has fewer than `limit` tokens in the window behind; inf for never."""
        with self._lock:
            slices = self._recent(name, window)
            used = sum(tokens for _, tokens in slices)
            if used < limit:
                return 0.0
            for begun, tokens in slices:
                used -= tokens
                if used < limit:
                    return begun + window.slice_s + window.seconds - self._clock()
            return math.inf  # of a limit of 0

    def _recent(self, name: str, window: Window) -> Slices:
        slices = self._slices.setdefault((name, window), deque())
        while slices and slices[0][0] + window.slice_s + window.seconds <= self._clock():
            slices.popleft()
        return slices
