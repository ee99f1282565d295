"""How many tokens an engine's step computes."""

from __future__ import annotations

from lab.simulator.workflows.budget import StepBudget
from relserve.policies.model.linear import CostModel


def test_the_budget_is_large_where_prompts_queue_up_and_small_where_not() -> None:
    budget, cost = StepBudget(idle_share=0.2, busy_share=0.1, busy_s=2.0, least=64, most=2048), 1e-4
    assert budget.tokens(CostModel(cost, 0.01, 1e-4, 0.015), 0) == 0.015 / cost * 4
    assert budget.tokens(CostModel(cost, 0.01, 1e-4, 0.015), 25_000) == 0.015 / cost * 9
    assert budget.tokens(CostModel(1e-6, 0.01, 1e-4, 0.01), 0) == 2048
    assert budget.tokens(CostModel(1e-2, 0.01, 1e-4, 0.01), 1e9) == 64
