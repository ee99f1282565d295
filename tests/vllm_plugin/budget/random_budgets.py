"""A policy without a thought, for tests: whatever it says, rows give the same tokens."""

from __future__ import annotations

import math
import random

from relserve.policies.budget.state import Budget, BudgetView, EndedRequest
from relserve.policies.budget.static import within
from relserve.policies.model.work import Work


class RandomBudgets:
    """Budgets of any size."""

    name, model = "random", None

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    @property
    def token_s(self) -> float | None:
        return self._rng.choice([None, 0.0, 1e-4, 1e-2])

    def choose(self, view: BudgetView) -> Budget:
        return within(view, self._rng.choice([0, 1, 40, 300]), self._rng.choice([1, math.inf]))

    def measured(self, work: Work, seconds: float) -> None:
        assert seconds > 0

    def ended(self, request: EndedRequest) -> None:
        assert request.num_output > 0
