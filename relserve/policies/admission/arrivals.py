"""How many requests come in a second, as far as those of late tell of those to come."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp

from relserve.policies.admission.policy import Learnt

COUNTED_S = 8.0  # over how long arrivals are counted
FIRST_S = 0.5  # for which the controller is taken to have counted before its first request
QUIET = 4.0  # arrivals that did not come, after which fewer are foreseen: one in 50 such pauses is chance


class ArrivalRates:
    """Counted by group, in `Learnt.per_s`."""

    def __init__(self) -> None:
        self._opened_s: float | None = None
        self._latest_s = self._per_s = 0.0

    def came(self, known: Learnt, now_s: float) -> None:
        """A request of a group came."""
        self._opened_s = now_s if self._opened_s is None else self._opened_s
        self._latest_s = now_s
        self._per_s += 1 / COUNTED_S
        known.per_s += 1 / COUNTED_S

    def passed(self, groups: Iterable[Learnt], passed_s: float) -> None:
        """Time has passed, and arrivals are forgotten."""
        kept = exp(-passed_s / COUNTED_S)
        self._per_s *= kept
        for known in groups:
            known.per_s *= kept

    def unseen(self, now_s: float) -> float:
        """What was counted is to be multiplied by, to foresee what comes.

        Before requests were counted for some seconds, a part of them was not seen. After a pause that is too
        long for so many, fewer come.
        """
        open_s = 0.0 if self._opened_s is None else now_s - self._opened_s
        unseen = 1.0 / (1.0 - exp(-(open_s + FIRST_S) / COUNTED_S))
        missing = unseen * self._per_s * (now_s - self._latest_s)
        return unseen * QUIET / missing if missing > QUIET else unseen
