"""What steps cost, learnt from the steps themselves: also what attention reads, by type of cache."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.state import CacheCosts
from relserve.policies.cost import StepSample, fit_with

WINDOW, EVERY = 512, 64  # steps remembered, and steps between fits


class CacheSample(NamedTuple):
    """One measured step.

    Attributes:
        step: its prompt tokens, decodes and seconds.
        kv_tokens, hidden_tokens: tokens in memory of the rows that decode, by type.
    """

    step: StepSample
    kv_tokens: float
    hidden_tokens: float


class MeasuredCosts:
    """Costs kept fresh from measured steps: what tokens in memory add, and the rest as `OnlineCost` has it.

    A type that no step read keeps the cost that it had.

    Args:
        first: to begin with.

    Attributes:
        latest: what is known now.
    """

    def __init__(self, first: CacheCosts) -> None:
        self.latest = first
        self._samples = np.zeros((WINDOW, 5))
        self._num = 0

    def add(self, sample: CacheSample) -> None:
        """Take one measured step."""
        if sample.step.seconds <= 0:
            return
        self._samples[self._num % WINDOW] = (*sample.step, sample.kv_tokens, sample.hidden_tokens)
        self._num += 1
        if self._num % EVERY == 0:
            self._learn(self._samples[: min(self._num, WINDOW)])

    def _learn(self, samples: np.ndarray) -> None:
        before = self.latest
        known = np.array([before.kv_token_s, before.hidden_token_s])
        steps, units = fit_with(samples[:, :3], samples[:, 3:], before.steps, known)
        self.latest = CacheCosts(steps, *np.minimum(units, _most(samples)).tolist())


def _most(samples: np.ndarray) -> np.ndarray:
    """The most that tokens of each type can cost: steps that read them took no longer for all that they did.

    Hiccups and few sizes of batches else make tokens look dearer than the steps themselves.
    """
    seconds, tokens = samples[:, 2], samples[:, 3:].T
    return np.array(
        [np.quantile(seconds[n > 0] / n[n > 0], 0.1) if (n > 0).any() else np.inf for n in tokens]
    )
