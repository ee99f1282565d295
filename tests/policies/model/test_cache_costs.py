"""What tokens in memory cost, learnt from steps of known cost."""

from __future__ import annotations

import random

import pytest

from relserve.policies.model.cache_costs import EVERY, CacheCosts, MeasuredCosts
from relserve.policies.model.linear import CostModel
from relserve.policies.model.work import Work

TRUE = CostModel(2e-5, 3e-3, 1e-4, 2e-3, 4e-3)
FIRST = CacheCosts(CostModel(1e-5, 1e-3, 1e-5, 1e-3, 1e-3), 1e-9, 7e-9)


def taught(kv_s: float, hidden_s: float, share_hidden: float, num: int = 4 * EVERY) -> CacheCosts:
    """What is known after steps that cost so much a token of each type."""
    rng, costs = random.Random(1), MeasuredCosts(FIRST)
    for _ in range(num):
        decodes, prompts = rng.choice([0, rng.randint(1, 40)]), rng.choice([0, 0, rng.randint(10, 500)])
        tokens = [rng.randint(20, 400) for _ in range(decodes)]
        hidden = sum([t for t in tokens if rng.random() < share_hidden])
        kv = sum(tokens) - hidden
        seconds = TRUE.step(prompts, decodes) + kv * kv_s + hidden * hidden_s
        hiccup = 0.05 if rng.random() < 0.02 else 0.0
        costs.add(
            Work(prompts, num_decodes=decodes, kv_tokens=kv, hidden_tokens=hidden),
            seconds * rng.uniform(0.99, 1.01) + hiccup,
        )
    return costs.model


def test_both_types_and_the_step_are_found() -> None:
    found = taught(4e-7, 1.2e-6, 0.5)
    assert found.kv_token_s == pytest.approx(4e-7, rel=0.15)
    assert found.hidden_token_s == pytest.approx(1.2e-6, rel=0.1)
    assert found.rho == pytest.approx(8e-7, rel=0.15)
    assert found.steps.prefill_per_token_s == pytest.approx(TRUE.prefill_per_token_s, rel=0.1)


def test_a_type_that_no_step_read_keeps_its_cost() -> None:
    found = taught(4e-7, 0.0, 0.0)
    assert found.kv_token_s == pytest.approx(4e-7, rel=0.15)
    assert found.hidden_token_s == FIRST.hidden_token_s


def test_nothing_is_learnt_from_few_steps_or_of_no_time() -> None:
    assert taught(4e-7, 1e-6, 0.5, EVERY - 1) == FIRST
    costs = MeasuredCosts(FIRST)
    for _ in range(2 * EVERY):
        costs.add(Work(num_decodes=4, kv_tokens=100), 0.0)
    assert costs.model == FIRST


def test_a_cost_is_never_below_0() -> None:
    assert taught(0.0, 0.0, 0.5).kv_token_s >= 0


def test_what_is_made_again_and_what_any_hidden_state_costs_are_found() -> None:
    rng, costs = random.Random(2), MeasuredCosts(FIRST)
    for _ in range(6 * EVERY):
        hidden, made = rng.choice([0, rng.randint(50, 2000)]), rng.choice([0, 0, rng.randint(16, 500)])
        decodes, prompts = rng.randint(1, 20), rng.randint(10, 50) if made else 0
        seconds = TRUE.step(prompts, decodes) + 1e-6 * hidden + 1e-3 * (hidden > 0)
        seconds += 2e-5 * made + 5e-4 * (made > 0)
        work = Work(prompts, num_decodes=decodes, hidden_tokens=hidden, made_tokens=made)
        costs.add(work, seconds * rng.uniform(0.99, 1.01))
    found = costs.model
    assert found.hidden_token_s == pytest.approx(1e-6, rel=0.1)
    assert found.hidden_base_s == pytest.approx(1e-3, rel=0.15)
    assert found.made_token_s == pytest.approx(2e-5, rel=0.1)


def test_what_all_steps_had_is_not_told_apart_from_the_step() -> None:
    costs = MeasuredCosts(FIRST)
    for _ in range(4 * EVERY):
        costs.add(Work(num_decodes=8, hidden_tokens=1000), 0.03)
    assert costs.model.hidden_base_s == 0
