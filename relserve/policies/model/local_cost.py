"""What a member reports of its step times: a linear model that is right at the load of its latest steps.

A step reads more memory the longer the contexts are, which no linear model of tokens and rows knows. So the
slopes are learnt from hundreds of steps, and the bases are what the latest steps took beside them; these
follow at once when a member turns slow.
"""

from __future__ import annotations

from dataclasses import replace

from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import OnlineCost
from relserve.policies.model.work import Work

LEARNT = 384  # steps before slopes are believed
PACE = 0.1  # weight of the latest step in a base
FULL = 0.9  # share of its budget from which a step is one that prompts fill


class LocalCost:
    """Learns from a member's own steps, one after the other.

    Attributes:
        budget_tokens: that a step may have, the one that is added next.
    """

    def __init__(self, start: CostModel, budget_tokens: float) -> None:
        self.budget_tokens = budget_tokens
        self._start, self._learnt, self._num_steps = start, OnlineCost(start), 0
        self._mixed_s, self._decode_s = start.shared_base_s, start.decode_base_s

    @property
    def model(self) -> CostModel:
        """To be reported."""
        return replace(self._slopes, decode_base_s=self._decode_s, mixed_base_s=self._mixed_s)

    @property
    def _slopes(self) -> CostModel:
        return self._learnt.model if self._num_steps >= LEARNT else self._start

    def add(self, work: Work, seconds: float) -> None:
        """See `OnlineFit.add`."""
        if not 0.0 < seconds < float("inf"):
            return
        tokens, decodes, slopes = work.prefill_tokens, work.num_decodes, self._slopes
        base_s = seconds - slopes.prefill_per_token_s * tokens - slopes.decode_per_request_s * decodes
        if not tokens:
            self._decode_s += PACE * (max(base_s, 0.0) - self._decode_s)
        elif tokens + decodes > FULL * self.budget_tokens:
            self._mixed_s += PACE * (max(base_s, 0.0) - self._mixed_s)
        self._learnt.add(work, seconds)
        self._num_steps += 1
