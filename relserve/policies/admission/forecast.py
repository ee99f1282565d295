"""How those fare that share an engine, each getting the speed that belongs to how many still run.

All get tokens at one speed at a time, so one counter tells what each has got: by when it has grown by so
much, and by how much it has grown at a deadline.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from relserve.policies.admission.scalability import Array

STEEP = 1.702  # a logistic curve so steep is nearest to the normal distribution's


class Forecast(NamedTuple):
    """The counter of tokens that each gets, over time, if nobody comes.

    Attributes:
        work: tokens that each still gets, ascending.
        end_s: seconds from now until each ends.
        alone: the speed at load 1, which holds after all have ended.
    """

    work: Array
    end_s: Array
    alone: float

    def got(self, after_s: Array) -> Array:
        """Tokens that one gets, who stays, after so many seconds; 0 before now."""
        if not len(self.work):
            return np.maximum(after_s, 0.0) * self.alone
        within = np.interp(after_s, self.end_s, self.work)
        early = np.minimum(after_s / max(self.end_s[0], 1e-12), 1.0) * self.work[0]
        found = np.where(after_s < self.end_s[0], early, within)
        found = found + np.maximum(after_s - self.end_s[-1], 0.0) * self.alone
        held: Array = np.maximum(found, 0.0)
        return held


def forecast(work: Array, speeds: Array) -> Forecast:
    """Let those run to their ends.

    Args:
        work: tokens that each still gets, ascending.
        speeds: by load, at the load's index; beyond the table its last one.
    """
    loads = np.minimum(np.arange(len(work), 0, -1), len(speeds) - 1)
    end_s: Array = np.cumsum(np.diff(work, prepend=0.0) / speeds[loads])
    return Forecast(work, end_s, float(speeds[1]))


def chance_below(limit: float, middle: float, spread: float) -> float:
    """The chance that a request's work is at most a limit: log-logistic, which is near to a lognormal one.

    The middle and spread are those of `Learnt`. `LengthLearner` cannot tell: it knows tokens, not work.
    """
    far = STEEP * log(max(limit, 1e-9) / middle) / spread
    return 1.0 / (1.0 + exp(-min(max(far, -50.0), 50.0)))


def below(limit: Array, middle: Array, spread: Array) -> Array:
    """The same for many."""
    far = STEEP * np.log(np.maximum(limit, 1e-9) / middle) / spread
    found: Array = 1.0 / (1.0 + np.exp(-np.minimum(np.maximum(far, -50.0), 50.0)))
    return found


def in_time(attained: Array, more: Array, middle: Array, spread: Array, before: Array) -> Array:
    """The chance that a request needs at most `more` beyond what it has attained, given that it runs on.

    Args:
        before: the chance of each to need no more than it has attained, `below(attained, ..)`.
    """
    found: Array = (below(attained + more, middle, spread) - before) / np.maximum(1.0 - before, 1e-9)
    return found
