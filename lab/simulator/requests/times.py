"""How long a step takes on a GPU, by a roofline, and what the policies are told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from relserve.policies.caching.state import CacheCosts
from relserve.policies.cost import CostModel

Seconds = np.ndarray[tuple[int], np.dtype[np.float64]]


class StepSize(NamedTuple):
    """What a step computes.

    Attributes:
        tokens: tokens that go through the model, those of decodes among them.
        pairs: pairs of a prompt's token with a token that it attends to in the same step.
        num_requests: requests that compute a token.
        kv_context, hidden_context: cached tokens that these requests attend to, by type of cache.
        cached_pairs: pairs of a prompt's token with one of the same prompt that an earlier step computed.
    """

    tokens: int
    pairs: float
    num_requests: int
    kv_context: int
    hidden_context: int
    cached_pairs: float = 0.0


class StepTimes(Protocol):
    """How long steps take."""

    @property
    def costs(self) -> CacheCosts:
        """What a policy is told."""

    def seconds(self, size: StepSize) -> float:
        """Seconds of one step."""

    def of_decodes(self, size: StepSize, growth: tuple[int, int], num_steps: int) -> Seconds:
        """Seconds of each of some decode steps in a row; both contexts grow by `growth` a step."""


@dataclass(frozen=True)
class Roofline:
    """Weights are read once a step while tokens are computed; attention and sampling come on top.

    Attributes:
        base_s: of every step: launches, scheduling, communication.
        weights_s: reading all weights once.
        token_s: computing a token; a step takes the longer of this and reading the weights.
        pair_s: attention of a prompt's token to another of the same step.
        request_s: sampling a token.
        kv_token_s, hidden_token_s: attention to one cached token, by its type.
    """

    base_s: float
    weights_s: float
    token_s: float
    pair_s: float
    request_s: float
    kv_token_s: float
    hidden_token_s: float

    @property
    def costs(self) -> CacheCosts:
        """See `StepTimes.costs`."""
        base_s = self.base_s + self.weights_s
        steps = CostModel(self.token_s, self.base_s, self.request_s, base_s)
        return CacheCosts(steps, self.kv_token_s, self.hidden_token_s)

    def seconds(self, size: StepSize) -> float:
        """See `StepTimes.seconds`."""
        attention_s = size.kv_context * self.kv_token_s + size.hidden_context * self.hidden_token_s
        return self._without_contexts(size) + attention_s

    def of_decodes(self, size: StepSize, growth: tuple[int, int], num_steps: int) -> Seconds:
        """See `StepTimes.of_decodes`."""
        steps = np.arange(num_steps)
        kv, hidden = size.kv_context + growth[0] * steps, size.hidden_context + growth[1] * steps
        return self._without_contexts(size) + (kv * self.kv_token_s + hidden * self.hidden_token_s)

    def _without_contexts(self, size: StepSize) -> float:
        compute_s = max(self.weights_s, size.tokens * self.token_s)
        return self.base_s + compute_s + size.pairs * self.pair_s + size.num_requests * self.request_s
