"""How long a step takes on a GPU, by a roofline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel
from relserve.policies.model.work import Column, Work


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
        """What a policy is told."""
        base_s = self.base_s + self.weights_s
        steps = CostModel(self.token_s, self.base_s, self.request_s, base_s)
        return CacheCosts(steps, self.kv_token_s, self.hidden_token_s)

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`."""
        hidden = work.hidden_tokens + work.made_tokens
        kv = work.context_tokens - hidden
        attention_s = kv * self.kv_token_s + hidden * self.hidden_token_s
        return self._without_contexts(work) + attention_s

    def of_decodes(self, work: Work, growth: tuple[int, int], num_steps: int) -> Column:
        """Seconds of each of some decode steps in a row, the first of this work.

        Args:
            growth: by how many tokens both contexts grow a step, that of keys and values first.
        """
        steps = np.arange(num_steps)
        kv = work.context_tokens - work.hidden_tokens + growth[0] * steps
        hidden = work.hidden_tokens + growth[1] * steps
        return self._without_contexts(work) + (kv * self.kv_token_s + hidden * self.hidden_token_s)

    def _without_contexts(self, work: Work) -> float:
        compute_s = max(self.weights_s, work.num_tokens * self.token_s)
        pairs_s = (work.pairs - work.cached_pairs) * self.pair_s
        return self.base_s + compute_s + pairs_s + work.num_requests * self.request_s
