"""One budget for all steps, as engines have it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from relserve.policies.budget.state import Budget, BudgetView, EndedRequest
from relserve.policies.model.work import Work


@dataclass(frozen=True)
class StaticBudget:
    """So many tokens a step, whatever runs."""

    name: str
    tokens: int

    @property
    def model(self) -> None:
        """See `BudgetPolicy.model`."""

    @property
    def token_s(self) -> None:
        """See `BudgetPolicy.token_s`."""

    def choose(self, view: BudgetView) -> Budget:
        """See `BudgetPolicy.choose`."""
        return within(view, self.tokens, reason="static")

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""

    def ended(self, request: EndedRequest) -> None:
        """See `BudgetPolicy.ended`."""


def within(
    view: BudgetView, tokens: float, requests: float = inf, target_s: float = inf, reason: str = ""
) -> Budget:
    """A budget within the engine's settings that lets all decodes go on and computes a token at least."""
    least = max(view.num_decodes, 1)
    return Budget(
        int(min(max(tokens, least), view.most_tokens)),
        int(min(max(requests, view.num_running, 1), view.most_requests)),
        target_s,
        reason,
    )
