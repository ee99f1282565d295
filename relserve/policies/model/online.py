"""A linear cost model kept fresh from measured steps, and one that stays as it is."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from relserve.policies.model.linear import FEW_STEPS, CostModel, fit
from relserve.policies.model.step_time import OnlineFit
from relserve.policies.model.work import Work

WINDOW, EVERY = 512, 64  # steps
SURE = 0.7  # mean error of lately measured steps, as a natural logarithm: a factor of two
NEWS = 0.125  # weight of the latest step in that mean


class CostSource(OnlineFit, Protocol):
    """Where a scheduler takes its cost model from, step by step."""

    @property
    def model(self) -> CostModel:
        """See `OnlineFit.model`."""

    @property
    def is_sure(self) -> bool:
        """Whether lately measured steps took about what the model says.

        What rests on seconds, such as a promise to each relQuery, waits until they do.
        """


class FixedCost:
    """A cost model that stays as it is, whatever is measured."""

    is_sure = True

    def __init__(self, model: CostModel) -> None:
        self.model = model

    def add(self, work: Work, seconds: float) -> None:
        """See `OnlineFit.add`."""


class OnlineCost:
    """A cost model kept fresh from measured steps.

    It is fitted to the latest `WINDOW` steps: after 1, 2, 4, 8 .. of them and then after every `EVERY`. It is
    robust to hiccups (see `fit`). The first few steps scale the start as a whole: what is first taken for
    another model or another machine is wrong by one factor above all.
    """

    def __init__(self, start: CostModel) -> None:
        self.model = self._start = start
        self._samples = np.zeros((WINDOW, 3))
        self._num, self._error = 0, float("inf")

    @property
    def is_sure(self) -> bool:
        """See `CostSource.is_sure`; nothing is known of the first steps."""
        return self._error <= SURE

    def add(self, work: Work, seconds: float) -> None:
        """See `OnlineFit.add`."""
        if seconds <= 0:
            return
        self._samples[self._num % WINDOW] = work.prefill_tokens, work.num_decodes, seconds
        self._num += 1
        self._note_error(work, seconds)
        is_early = self._num < EVERY and self._num.bit_count() == 1
        if is_early or self._num % EVERY == 0:
            self._fit(self._samples[: min(self._num, WINDOW)])

    def _note_error(self, work: Work, seconds: float) -> None:
        foreseen_s = self.model.seconds(work)
        if foreseen_s > 0:
            error = abs(math.log(seconds / foreseen_s))
            known = 0.0 if math.isinf(self._error) else self._error
            self._error = known + max(1.0 / self._num, NEWS) * (error - known)

    def _fit(self, samples: np.ndarray) -> None:
        if len(samples) < FEW_STEPS:
            self.model = _scaled(self._start, samples)
        else:
            self.model = fit(samples, self.model)


def _scaled(cost: CostModel, samples: np.ndarray) -> CostModel:
    """The model with all its times multiplied by the median of what steps took over what it says."""
    foreseen_s = np.array([cost.step(tokens, decodes) for tokens, decodes, _ in samples])
    is_any = foreseen_s > 0
    if not is_any.any():
        return cost
    factor = float(np.median(samples[is_any, 2] / foreseen_s[is_any]))
    return cost.scaled(factor)
