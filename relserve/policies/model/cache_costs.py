"""What steps cost where rows keep keys and values or hidden states, and how that is learnt from the steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.model.linear import CostModel, fit_with
from relserve.policies.model.work import Work

WINDOW, EVERY = 512, 64  # steps remembered, and steps between fits
FEW = 4  # steps without what is to be told apart
NUM_KINDS = 3  # of tokens in memory that a step reads


class CacheCosts(NamedTuple):
    """What steps cost, in seconds.

    Attributes:
        steps: the step without what attention reads.
        kv_token_s: what a cached token adds to each step in which its request decodes, as keys and values.
        hidden_token_s: the same as a hidden state; with the absorbed path it can be the smaller one.
        made_token_s: what a cached token of a hidden prompt adds to a step in which more of that prompt is
            computed: its keys and values are made again.
        hidden_base_s: what a step takes more because there are hidden states that its decodes read.
        made_base_s: the same for hidden prompts that go on.
    """

    steps: CostModel
    kv_token_s: float
    hidden_token_s: float
    made_token_s: float = 0.0
    hidden_base_s: float = 0.0
    made_base_s: float = 0.0

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`."""
        read_s = self.kv_token_s * work.kv_tokens + self.hidden_token_s * work.hidden_tokens
        made_s = self.made_token_s * work.made_tokens
        bases_s = self.hidden_base_s * (work.hidden_tokens > 0) + self.made_base_s * (work.made_tokens > 0)
        return self.steps.seconds(work) + read_s + made_s + bases_s

    @property
    def rho(self) -> float:
        """What a token costs more a step for being hidden (Apt-Serve, Eq. 6, a token), never below 0.

        The paper measures it before it serves: the slope of the time of a model's projections of X to K and
        V over the tokens projected. Its authors' program divides that slope by 5, which makes hidden look
        five times cheaper than it is (in simulation 95 % attainment become 29 %); nothing is divided here.
        """
        return max(self.hidden_token_s - self.kv_token_s, 0.0)


class MeasuredCosts:
    """Costs kept fresh from measured steps: what tokens in memory add, and the rest as `OnlineCost` has it.

    What no step did keeps the cost that it had.

    Args:
        first: to begin with.

    Attributes:
        model: what is known now.
    """

    def __init__(self, first: CacheCosts) -> None:
        self.model = first
        self._samples = np.zeros((WINDOW, 8))
        self._num = 0

    def add(self, work: Work, seconds: float) -> None:
        """See `OnlineFit.add`."""
        if seconds <= 0:
            return
        step = work.prefill_tokens, work.num_decodes, seconds
        self._samples[self._num % WINDOW] = (*step, *_counted(work))
        self._num += 1
        if self._num % EVERY == 0:
            self._learn(self._samples[: min(self._num, WINDOW)])

    def _learn(self, samples: np.ndarray) -> None:
        before = self.model
        known = np.array(before[1:])
        steps, units = fit_with(samples[:, :3], _told_apart(samples), before.steps, known)
        units[:NUM_KINDS] = np.minimum(units[:NUM_KINDS], _most(samples))
        self.model = CacheCosts(steps, *units.tolist())


def _told_apart(samples: np.ndarray) -> np.ndarray:
    """What steps read; whether there was any only where some steps of the same kind had none."""
    found = samples[:, 3:].copy()
    for column, of_kind in ((NUM_KINDS, samples[:, 1] > 0), (NUM_KINDS + 1, samples[:, 0] > 0)):
        if np.count_nonzero(of_kind & (found[:, column] == 0)) < FEW:
            found[:, column] = 0.0
    return found


def _counted(work: Work) -> tuple[float, ...]:
    """What a step read, in the order of `CacheCosts`: tokens of each kind, if any were hidden or made."""
    kv, hidden, made = work.kv_tokens, work.hidden_tokens, work.made_tokens
    return kv, hidden, made, float(hidden > 0), float(made > 0)


def _most(samples: np.ndarray) -> np.ndarray:
    """The most that tokens of each kind can cost: steps that read them took no longer for all that they did.

    Hiccups and few sizes of batches else make tokens look dearer than the steps themselves.
    """
    seconds, tokens = samples[:, 2], samples[:, 3 : 3 + NUM_KINDS].T
    return np.array(
        [np.quantile(seconds[n > 0] / n[n > 0], 0.1) if (n > 0).any() else np.inf for n in tokens]
    )
