"""Every model of a step answers the same question, and those that learn take the same measurements."""

from __future__ import annotations

import pytest

from lab.simulator.roofline import Roofline
from relserve.policies.model.cache_costs import CacheCosts, MeasuredCosts
from relserve.policies.model.linear import CostModel
from relserve.policies.model.local_cost import LocalCost
from relserve.policies.model.online import FixedCost, OnlineCost
from relserve.policies.model.step_time import OnlineFit, StepTime
from relserve.policies.model.structured import OURS, PUBLISHED, StepModel
from relserve.policies.model.work import Work

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-3)
MIXED = Work(300, 2, 20, 5000, 50_000.0, 5000.0, kv_tokens=3000, hidden_tokens=1000, made_tokens=500)
FITS: dict[str, OnlineFit] = {
    "online": OnlineCost(COST), "fixed": FixedCost(COST), "local": LocalCost(COST, 320.0),
    "by type of cache": MeasuredCosts(CacheCosts(COST, 1e-7, 2e-7)),
    "LENS": StepModel(PUBLISHED), "ours": StepModel(OURS),
}  # fmt: skip


def test_costs_by_type_of_cache_come_on_top_of_the_linear_model() -> None:
    costs = CacheCosts(COST, 1e-6, 2e-6, 3e-6, 0.5, 0.25)
    more_s = 3000e-6 + 2 * 1000e-6 + 3 * 500e-6 + 0.5 + 0.25
    assert costs.seconds(MIXED) == pytest.approx(COST.seconds(MIXED) + more_s)
    assert costs.seconds(Work(300, 2, 20, 5000)) == COST.step(300, 20)


def test_a_roofline_tells_contexts_apart_by_type() -> None:
    roofline = Roofline(1e-3, 1e-2, 1e-4, 1e-8, 1e-5, 1e-6, 2e-6)
    prompt_s = 1e-3 + 320e-4 + 45_000e-8 + 22e-5
    assert roofline.seconds(MIXED) == pytest.approx(prompt_s + 3500e-6 + 2 * 1500e-6)


@pytest.mark.parametrize("name", FITS)
def test_every_fit_learns_of_works_and_seconds_and_gives_a_model(name: str) -> None:
    fit = FITS[name]
    for number in range(70):
        fit.add(Work(100 * (number % 3), min(number % 3, 1), 10, 1000.0), 0.02 + 1e-3 * (number % 3))
    model: StepTime = fit.model
    assert model.seconds(Work(200, 1, 10, 1000.0)) > 0
