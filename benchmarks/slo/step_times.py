"""What a model's step counts as by the charged clock, where it matters how long prompts and contexts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relserve.policies.model.regression import robust
from relserve.policies.model.work import Work


@dataclass(frozen=True)
class LinearStepTimes:
    """Seconds linear in each number of a row of a table of works; see `StepTime`."""

    base_s: float
    of_work: Sequence[float]

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`."""
        return self.base_s + sum(each * number for each, number in zip(self.of_work, work.row, strict=True))

    def explained(self, steps: Sequence[Sequence[float]]) -> float:
        """The share of the variance of measured steps' times (R2)."""
        works, seconds = _measured(steps)
        errors = seconds - np.array([self.seconds(Work(*work)) for work in works])
        return 1.0 - float((errors**2).sum() / ((seconds - seconds.mean()) ** 2).sum())


def fitted(steps: Sequence[Sequence[float]]) -> LinearStepTimes:
    """Fit to measured steps, relative errors with Huber weights.

    Args:
        steps: rows of a table of works, each with the seconds at its end.
    """
    works, seconds = _measured(steps)
    found = robust(np.column_stack([np.ones(len(works)), works]), seconds, 1.0 / seconds**2)
    return LinearStepTimes(float(found[0]), found[1:].tolist())


def _measured(steps: Sequence[Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(steps, dtype=float)
    return table[:, :-1], table[:, -1]
