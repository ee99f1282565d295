"""What a budget policy is: one pure decision a step."""

from __future__ import annotations

from typing import Protocol

from relserve.policies.budget.state import Budget, BudgetView, EndedRequest
from relserve.policies.model.structured import StepModel
from relserve.policies.model.work import Work


class BudgetPolicy(Protocol):
    """Chooses how many tokens the next step computes; owns no queue and no clock."""

    @property
    def name(self) -> str:
        """The variant's name."""

    @property
    def model(self) -> StepModel | None:
        """What it knows of how long steps take; None where it does not ask."""

    @property
    def token_s(self) -> float | None:
        """Seconds for a token of a prompt that waits, so that late ones let others go first (`late`).

        0 as long as it is not known; None where prompts go in their order, whoever is late.
        """

    def choose(self, view: BudgetView) -> Budget:
        """The next step. What runs goes before what waits, which comes in the order of arrival."""

    def measured(self, work: Work, seconds: float) -> None:
        """A step has ended."""

    def ended(self, request: EndedRequest) -> None:
        """A request has ended."""
