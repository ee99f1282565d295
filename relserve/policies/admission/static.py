"""A static limit on how many requests run at once, and which one the measured speeds allow."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import median

from relserve.policies.admission.policy import AdmissionChoice, AdmissionView
from relserve.policies.admission.scalability import SpeedSample

LIMITS = tuple(range(10, 101, 10))  # those that the paper compares


class StaticLimit:
    """First come, first served, so many at once.

    Raises:
        ValueError: the limit is less than one.
    """

    def __init__(self, name: str, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"a limit of {limit} lets nobody in; it must be at least 1")
        self.name, self.limit, self.every_s = name, limit, 0.0

    def choose(self, view: AdmissionView) -> AdmissionChoice:
        """See `AdmissionPolicy.choose`."""
        if view.waiting and len(view.running) < self.limit:
            return AdmissionChoice(view.waiting[0], "a free place")
        return AdmissionChoice(None, "the limit")


def best_limit(samples: Sequence[SpeedSample], needed: float) -> int:
    """The largest limit under which requests get the speed that they need, by measured speeds alone.

    No curve is assumed: the speed at a limit is the median of what was measured between the limit below and
    the next above, and no higher than at lower loads. Limits at which nothing was measured are taken where
    the next that was measured is fast enough, or none above was measured.

    Args:
        needed: tokens a second; best that of the class which needs the least, for a limit that is too low
            makes everybody late who waits, one that is too high only those who need more.
    """
    best, below, slowest = LIMITS[0], 0, inf
    for i, limit in enumerate(LIMITS):
        above = LIMITS[i + 1] if i + 1 < len(LIMITS) else limit * 2
        near = [sample.speed for sample in samples if below < sample.load <= (limit + above) / 2]
        below = limit
        if near:
            slowest = min(slowest, median(near))
        if slowest < needed:
            break
        best = limit
    return best
