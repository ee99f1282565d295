"""How many tokens each user has used in the last minute, hour and day, and how many those under way may use.

Pure: its clock is passed in.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
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
Limits = Sequence[int | None]
Slices = deque[tuple[float, int]]  # when a slice began, and its tokens


class Quota:
    """Tokens of the last minute, hour and day, by user's name. Safe for several threads.

    Args:
        clock: seconds that only grow, such as time.monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._slices: dict[tuple[str, Window], Slices] = {}
        self._claimed = Counter[str]()  # by rows and requests under way
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

    def claim(self, name: str, limits: Limits, wanted: Sequence[int]) -> int:
        """Claim tokens for rows that are about to be sent: as many of the first as may go.

        A row may go while what was used, and what others have claimed, leaves any token; so a user goes over
        by what one row takes.

        Args:
            limits: of the user, of `WINDOWS`; None: no limit.
            wanted: the most tokens that each row may take.

        Returns:
            How many rows may go; their claims are to be released.
        """
        with self._lock:
            left = min(
                (limit - self._used(name, window) for limit, window in zip(limits, WINDOWS, strict=True)
                 if limit is not None), default=math.inf,
            )  # fmt: skip
            count = 0
            while count < len(wanted) and self._claimed[name] < left:
                self._claimed[name] += wanted[count]
                count += 1
            return count

    def release(self, name: str, tokens: int) -> None:
        """So many of the claimed tokens have been used, or will not be."""
        with self._lock:
            self._claimed[name] -= tokens

    def used(self, name: str, window: Window = HOUR) -> int:
        """Tokens that a user has used lately."""
        with self._lock:
            return self._used(name, window)

    def _used(self, name: str, window: Window) -> int:
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
