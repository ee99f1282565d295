"""A share that was measured on some rows, and where the share of all rows may be."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95  # of every interval
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


class MeasuredShare(NamedTuple):
    """A share from 0 to 1, with the ends of its interval."""

    value: float
    low: float
    high: float


def measured_share(hits: int, total: int) -> MeasuredShare | None:
    """The share of hits with Wilson's score interval at `LEVEL`; None of no rows.

    Wilson (1927), "Probable inference, the law of succession, and statistical inference": the shares p whose
    distance from hits/total is at most z standard errors of p. Unlike hits/total +- z * standard error it
    keeps its promise for few rows, and for shares near 0 and 1.
    """
    if not total:
        return None
    share, z2 = hits / total, Z * Z
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return MeasuredShare(share, 0.0 if not hits else low, 1.0 if hits == total else high)
