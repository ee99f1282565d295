"""One budget for all steps, as engines have it; and two, as vLLM's proposal for an adaptive one has them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from relserve.policies.budget.state import Budget, Ended, View, Work


@dataclass(frozen=True)
class Static:
    """So many tokens a step, whatever runs."""

    name: str
    tokens: int

    @property
    def model(self) -> None:
        """See `BudgetPolicy.model`."""

    @property
    def token_s(self) -> None:
        """See `BudgetPolicy.token_s`."""

    def choose(self, view: View) -> Budget:
        """See `BudgetPolicy.choose`."""
        return within(view, self.tokens, reason="static")

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""

    def ended(self, request: Ended) -> None:
        """See `BudgetPolicy.ended`."""


@dataclass(frozen=True)
class Pressure(Static):
    """P-PAS (vLLM's issue 52906): `small` while two prompts at least are active and something decodes.

    With `large_prompt`, P-PAS+: also while one prompt with so many tokens left runs beside two decodes.
    """

    small: int = 1280
    large_prompt: float = inf

    def choose(self, view: View) -> Budget:
        """See `BudgetPolicy.choose`."""
        prompts = view.prompts
        is_pressed = len(prompts.left) >= 2 and view.num_decodes > 0
        if prompts.num_begun == 1 and view.num_decodes >= 2:
            is_pressed |= bool(prompts.left[0] >= self.large_prompt)
        return within(view, self.small if is_pressed else self.tokens, reason="pressure")


def within(
    view: View, tokens: float, requests: float = inf, target_s: float = inf, reason: str = ""
) -> Budget:
    """A budget within the engine's settings that lets all decodes go on and computes a token at least."""
    least = max(view.num_decodes, 1)
    return Budget(
        int(min(max(tokens, least), view.most_tokens)),
        int(min(max(requests, view.num_running, 1), view.most_requests)),
        target_s,
        reason,
    )
