"""Where to cut: the two thresholds at which the least rows are likely to be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from relserve.policies.cascading.policy import BoolArray, FloatArray, Targets
from relserve.policies.cascading.replayed import IntArray

NUM_CUTS = 160
MIXTURE = 3.0  # the prior's weights cost a factor of the evidence
LOWER_SHARES = (0.5, 0.7, 0.85, 0.95)  # of the probability to miss, for the recall


class Plan(NamedTuple):
    """Cuts between ranks, and the missing probability of each side.

    Rows below rank `low` are dropped unless asked, rows from rank `high` are kept unless asked, those
    between asked.
    """

    low: int
    high: int
    miss_below: float
    miss_above: float
    wrong_below: float
    """Rows below that are likely true."""
    wrong_above: float
    """Rows above that are likely false."""
    num_asks: float
    """Rows that are likely still to be asked."""


@dataclass(frozen=True)
class CascadePlanner:
    """Finds cuts for one filter.

    Attributes:
        cuts: ranks at which rows may be cut: no two rows of one score are parted, [cuts], from 0 to the
            rows' number.
        known_true: rows outside that the large model keeps.
    """

    targets: Targets
    cuts: IntArray
    known_true: int

    def plan(self, likely: FloatArray, asked: BoolArray, answers: BoolArray) -> Plan:
        """The cheapest plan by the probabilities `likely`, given what was asked already."""
        true_before = sums_before(np.where(asked, 0.0, likely))[self.cuts]
        open_before = sums_before((~asked).astype(float))[self.cuts]
        found = self.known_true + int(answers[asked].sum())
        plans = [self._cheapest(true_before, open_before, found, share) for share in self._shares()]
        return min(plans, key=lambda plan: plan.num_asks)

    def _shares(self) -> tuple[float, ...]:
        if self.targets.precision is None:
            return (1.0,)
        return (0.0,) if self.targets.recall is None else LOWER_SHARES

    def _cheapest(self, true_before: FloatArray, open_before: FloatArray, found: int, share: float) -> Plan:
        miss = 1 - self.targets.confidence
        rows_above = open_before[-1] - open_before
        wrong_above = rows_above - (true_before[-1] - true_before)
        below, above = np.zeros_like(open_before), np.zeros_like(open_before)
        if self.targets.recall is not None:
            allowed = (1 / self.targets.recall - 1) * (found + true_before[-1] - true_before)
            below = draws_likely(open_before, allowed, true_before, share * miss)
        if self.targets.precision is not None:
            most = (1 - self.targets.precision) * (found + (self.targets.recall or 0) * true_before[-1])
            above = draws_likely(rows_above, most, wrong_above, (1 - share) * miss)
        of_low, of_high = below - open_before, above + open_before
        best_high = np.minimum.accumulate(of_high[::-1])[::-1]  # of the cuts from each one on
        low = int(np.argmin(of_low + best_high))
        high = low + int(np.argmin(of_low[low] + of_high[low:]))
        return Plan(
            int(self.cuts[low]), int(self.cuts[high]), share * miss, (1 - share) * miss,
            float(true_before[low]), float(wrong_above[high]), float(of_low[low] + of_high[high]),
        )  # fmt: skip


def cuts_of(scores: FloatArray) -> IntArray:
    """Ranks at which ascending scores may be cut, at most about `NUM_CUTS`."""
    starts = np.flatnonzero(np.diff(scores) > 0) + 1
    if len(starts) > NUM_CUTS:
        starts = starts[np.linspace(0, len(starts) - 1, NUM_CUTS).astype(int)]
    return np.concatenate([[0], starts, [len(scores)]]).astype(np.int64)


def draws_likely(rows: FloatArray, allowed: FloatArray, wrong: FloatArray, miss: float) -> FloatArray:
    """About how many draws `counting.WrongRows` takes: n (1 - miss^(1 / (a + 1) g)), g = 1 - x + x ln x.

    Here a wrong rows are allowed of n, and x (a + 1) are likely. Exact where nothing is likely to be wrong:
    (1 - f)^(a + 1) is the chance that a share f of the rows has none of a + 1.
    """
    counts = np.maximum(allowed, 0) + 1
    share = np.minimum((wrong + 0.5) / counts, 1 - 1e-9)
    gain = np.maximum(1 - share + share * np.log(share), 1e-9)
    draws = rows * (1 - (miss / MIXTURE) ** (1 / (counts * gain)))
    return np.where(rows <= allowed, 0.0, draws)


def sums_before(values: FloatArray) -> FloatArray:
    """Sums of all values before each place, [values + 1]."""
    return np.concatenate([[0.0], np.cumsum(values)])
