"""What ordinary requests were like lately: how often they come, what they ask for, and how long they stay."""

from __future__ import annotations

from collections import deque
from math import ceil, sqrt
from statistics import median

KEPT = 32  # requests remembered
LONGEST_GAP_S = 30.0  # after so long without one, none is expected any more
GAPS = 7.0  # of the mean length: one in a thousand of a Poisson process's gaps is longer
DEVIATIONS = 2.0  # more than so many are there at once one time in forty


class RecentTraffic:
    """The latest ordinary requests.

    Attributes:
        uncached_tokens, prompt_tokens: of one, at the median; 0 before there was one.
    """

    def __init__(self) -> None:
        self.uncached_tokens = self.prompt_tokens = 0.0
        self._came_s: deque[float] = deque(maxlen=KEPT)
        self._uncached: deque[float] = deque(maxlen=KEPT)
        self._prompts: deque[float] = deque(maxlen=KEPT)
        self._stays_s: deque[float] = deque(maxlen=KEPT)

    def came(self, at_s: float, uncached_tokens: float, prompt_tokens: float) -> None:
        """One came, of whose prompt so much is not in the prefix cache."""
        if self._came_s and at_s - self._came_s[-1] > LONGEST_GAP_S:
            self._came_s.clear()  # what was before that says nothing of now
        self._came_s.append(max(at_s, self._came_s[-1]) if self._came_s else at_s)
        self._uncached.append(uncached_tokens)
        self._prompts.append(prompt_tokens)
        self.uncached_tokens, self.prompt_tokens = median(self._uncached), median(self._prompts)

    def ended(self, stay_s: float) -> None:
        """One was answered or given up, so long after it came."""
        self._stays_s.append(stay_s)

    def is_expected(self, now_s: float) -> bool:
        """Whether another one may come soon, by the gaps between the latest."""
        if not self._came_s:
            return False
        one_alone = len(self._came_s) < 2  # is taken for the first of several
        return now_s - self._came_s[-1] <= (
            LONGEST_GAP_S if one_alone else min(GAPS * self._mean_gap_s, LONGEST_GAP_S)
        )

    def most_at_once(self) -> int:
        """How many are there at once at most, but for one time in forty: their number is Poisson's."""
        if len(self._came_s) < 2 or not self._stays_s:
            return 1
        mean = sum(self._stays_s) / len(self._stays_s) / max(self._mean_gap_s, 1e-9)  # Little's law
        return min(ceil(mean + DEVIATIONS * sqrt(mean)), 2 * len(self._came_s))  # a few tell little of a rate

    @property
    def _mean_gap_s(self) -> float:
        return (self._came_s[-1] - self._came_s[0]) / (len(self._came_s) - 1)
