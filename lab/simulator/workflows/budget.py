"""How many tokens a step computes: small steps let decodes go on, each costs its base once more. Ours."""

from __future__ import annotations

from typing import NamedTuple

from relserve.policies.model.linear import CostModel


class StepBudget(NamedTuple):
    """A budget near the engine's balance point, by its measured cost and by what waits for it.

    The base of a step may take so much of it: much while the engine keeps up, for it has time to spare, and
    little when prompts queue up.

    Attributes:
        idle_share, busy_share: the base's share of a step.
        busy_s: seconds of prompts from which on an engine counts as busy.
        least, most: tokens.
    """

    idle_share: float = 0.2
    busy_share: float = 0.1
    busy_s: float = 2.0
    least: int = 128
    most: int = 2048

    def tokens(self, cost: CostModel, prompt_tokens: float) -> int:
        """Prompt tokens of the next step.

        Args:
            prompt_tokens: still to be computed, of steps that run and of those that wait.
        """
        share = self.busy_share if prompt_tokens > self.busy_tokens(cost) else self.idle_share
        wanted = cost.shared_base_s / cost.prefill_per_token_s * (1.0 / share - 1.0)
        return int(min(max(wanted, self.least), self.most))

    def busy_tokens(self, cost: CostModel) -> float:
        """Prompt tokens beyond which an engine counts as busy."""
        return self.busy_s / cost.prefill_per_token_s
