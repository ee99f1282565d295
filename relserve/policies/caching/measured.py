"""What steps cost, learnt from the steps themselves: also what attention reads, by type of cache."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.state import CacheCosts
from relserve.policies.cost import StepSample, fit_with

WINDOW, EVERY = 512, 64  # steps remembered, and steps between fits
FEW = 4  # steps without what is to be told apart
NUM_KINDS = 3  # of tokens in memory that a step reads


class CacheSample(NamedTuple):
    """One measured step.

    Attributes:
        step: its prompt tokens, decodes and seconds.
        kv_tokens, hidden_tokens: tokens in memory of the rows that decode, by type.
        made_tokens: tokens in memory of hidden prompts that are cut, and go on in this step.
    """

    step: StepSample
    kv_tokens: float
    hidden_tokens: float
    made_tokens: float = 0.0


class MeasuredCosts:
    """Costs kept fresh from measured steps: what tokens in memory add, and the rest as `OnlineCost` has it.

    What no step did keeps the cost that it had.

    Args:
        first: to begin with.

    Attributes:
        latest: what is known now.
    """

    def __init__(self, first: CacheCosts) -> None:
        self.latest = first
        self._samples = np.zeros((WINDOW, 8))
        self._num = 0

    def add(self, sample: CacheSample) -> None:
        """Take one measured step."""
        if sample.step.seconds <= 0:
            return
        self._samples[self._num % WINDOW] = (*sample.step, *_counted(sample))
        self._num += 1
        if self._num % EVERY == 0:
            self._learn(self._samples[: min(self._num, WINDOW)])

    def _learn(self, samples: np.ndarray) -> None:
        before = self.latest
        known = np.array(before[1:])
        steps, units = fit_with(samples[:, :3], _told_apart(samples), before.steps, known)
        units[:NUM_KINDS] = np.minimum(units[:NUM_KINDS], _most(samples))
        self.latest = CacheCosts(steps, *units.tolist())


def _told_apart(samples: np.ndarray) -> np.ndarray:
    """What steps read; whether there was any only where some steps of the same kind had none."""
    found = samples[:, 3:].copy()
    for column, of_kind in ((NUM_KINDS, samples[:, 1] > 0), (NUM_KINDS + 1, samples[:, 0] > 0)):
        if np.count_nonzero(of_kind & (found[:, column] == 0)) < FEW:
            found[:, column] = 0.0
    return found


def _counted(sample: CacheSample) -> tuple[float, ...]:
    """What a step read, in the order of `CacheCosts`: tokens of each kind, if any were hidden or made."""
    return (*sample[1:], float(sample.hidden_tokens > 0), float(sample.made_tokens > 0))


def _most(samples: np.ndarray) -> np.ndarray:
    """The most that tokens of each kind can cost: steps that read them took no longer for all that they did.

    Hiccups and few sizes of batches else make tokens look dearer than the steps themselves.
    """
    seconds, tokens = samples[:, 2], samples[:, 3 : 3 + NUM_KINDS].T
    return np.array(
        [np.quantile(seconds[n > 0] / n[n > 0], 0.1) if (n > 0).any() else np.inf for n in tokens]
    )
