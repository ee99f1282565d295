"""How many rows of a region can be wrong, from rows of it that were drawn without replacement.

The confidence sequence is the mixture of likelihood ratios of the hypergeometric distribution, as in
Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement" (NeurIPS 2020), with a
prior of a few points. If the region has `y` wrong rows, then

    E_t(y) = sum_z prior(z) P(hits after t draws | z) / P(hits after t draws | y)

is a martingale that starts at 1, whatever `y` is. By Ville's inequality it reaches 1 / miss with
probability `miss` at most, at any time. All counts with E_t(y) >= 1 / miss are therefore ruled out, and one
may look after each draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

SHARES = (0.0, 0.1, 0.25, 0.45, 0.7, 0.9)  # of the allowed wrong rows, at which the prior has its points


@dataclass(frozen=True)
class WrongRows:
    """A confidence sequence for the number of wrong rows in a region.

    Attributes:
        num_rows: of the region.
        allowed: about how many wrong ones will be allowed; it shapes the prior and no guarantee rests on it.
        expected: how many wrong ones are likely, likewise.
        miss: the probability with which the region has at some time more wrong rows than the bound says.
    """

    num_rows: int
    allowed: float
    expected: float
    miss: float

    @cached_property
    def prior(self) -> tuple[tuple[int, float], ...]:
        """Numbers of wrong rows, each with its weight: half on what is expected."""
        points = [min(self.num_rows, round(share * self.allowed)) for share in SHARES]
        expected = min(self.num_rows, round(min(self.expected, 0.8 * self.allowed)))
        weights: dict[int, float] = {}
        for point in points:
            weights[point] = weights.get(point, 0.0) + 0.5 / len(points)
        weights[expected] = weights.get(expected, 0.0) + 0.5
        return tuple(weights.items())

    def holds(self, draws: int, hits: int, limit: float) -> bool:
        """Whether every count above `limit` is ruled out after so many draws, `hits` of them wrong."""
        first = math.floor(limit) + 1
        if first > self.num_rows - (draws - hits):
            return True  # more wrong ones than rows that are left
        if first <= hits or first * draws < hits * (self.num_rows + 1):
            return False  # likelier counts stand above the limit; beyond them the likelihood falls
        return self._log_evidence(draws, hits, first) >= -math.log(self.miss)

    def bound(self, draws: int, hits: int) -> int:
        """The most wrong rows that are not ruled out."""
        low, high = hits - 1, self.num_rows - (draws - hits)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(draws, hits, middle) else (middle, high)
        return high

    def draws_needed(self, draws: int, hits: int, limit: float) -> int:
        """The fewest further draws after which `limit` holds, if none of them is wrong."""
        low, high = 0, self.num_rows - draws
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(draws + middle, hits, limit) else (middle, high)
        return high

    def _log_evidence(self, draws: int, hits: int, count: int) -> float:
        logs = [
            math.log(weight) + _log_ways(self.num_rows, draws, hits, point)
            for point, weight in self.prior
            if hits <= point <= self.num_rows - (draws - hits)
        ]
        if not logs:
            return -math.inf
        most = max(logs)
        mixture = most + math.log(sum(math.exp(log - most) for log in logs))
        return mixture - _log_ways(self.num_rows, draws, hits, count)


def _log_ways(num_rows: int, draws: int, hits: int, count: int) -> float:
    return _log_choose(count, hits) + _log_choose(num_rows - count, draws - hits)


def _log_choose(whole: int, part: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(part + 1) - math.lgamma(whole - part + 1)
