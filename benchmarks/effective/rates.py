"""The highest rate at which attainment holds a level: the paper's effective throughput."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

STEP = 1.3  # between rates while the level is not yet bracketed


class Curve:
    """Attainment by rate, measured where it is asked for and remembered.

    Args:
        attained_at: the attainment, 0 to 1, at a rate; runs a workload.
        start: the rate that is measured first.
        lowest, highest: no rate beyond these is measured.
    """

    def __init__(
        self, attained_at: Callable[[float], float], start: float, lowest: float, highest: float
    ) -> None:
        if not 0 < lowest <= start <= highest:
            raise ValueError(
                f"rates must be 0 < lowest <= start <= highest, not {lowest}, {start}, {highest}"
            )
        self._attained_at, self._start = attained_at, start
        self._lowest, self._highest = lowest, highest
        self.measured: dict[float, float] = {}

    def at(self, rate: float) -> float:
        """Attainment at a rate."""
        if rate not in self.measured:
            self.measured[rate] = self._attained_at(rate)
        return self.measured[rate]

    def rate_at(self, level: float, ratio: float = 1.03) -> float:
        """The rate where attainment first falls below `level`, counted from below.

        The two rates around it are brought within `ratio` of each other, and it is taken on the line between
        them. The lowest rate is given where even that attains less, the highest where all attain more: the
        true one is then beyond it.
        """
        self.at(self._start)
        low, high = self._bracket(level)
        while low is None or high is None:
            rate = min(low * STEP, self._highest) if low else max((high or 0) / STEP, self._lowest)
            if rate in self.measured:
                return rate
            self.at(rate)
            low, high = self._bracket(level)
        while high / low > ratio:
            self.at(sqrt(low * high))
            narrowed = self._bracket(level)
            low, high = narrowed[0] or low, narrowed[1] or high
        above, below = self.at(low), self.at(high)
        return low + (high - low) * (above - level) / (above - below)

    def _bracket(self, level: float) -> tuple[float | None, float | None]:
        """The measured rates on both sides of the first fall below `level`; None where there is none."""
        low = None
        for rate, attained in sorted(self.measured.items()):
            if attained < level:
                return low, rate
            low = rate
        return low, None
