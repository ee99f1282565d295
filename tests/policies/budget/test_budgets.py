"""Budgets of every policy: within limits whatever is seen, the search, slack, odd limits, its time."""

from __future__ import annotations

import random
import time
from functools import cache
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.budget.lens import EPSILON, Lens
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.slack import SlackBudget
from relserve.policies.budget.state import BudgetView, EndedRequest, works_at
from relserve.policies.budget.variants import NAMES, make
from relserve.policies.model.work import Work
from tests.policies.budget.seen import measured, seconds_of, view, works


@cache
def taught(name: str) -> BudgetPolicy:
    """A policy that has seen 1,200 steps; all tests share it."""
    policy, rng = make(name), random.Random(1)
    for work in works(1200):
        policy.measured(work, measured(work, rng))
    for i in range(50):
        policy.ended(EndedRequest(0.5, 0.015 + 0.0001 * i, 100))
    return policy


def step_s(seen: BudgetView, tokens: int) -> float:
    return seconds_of(Work(*works_at(seen, np.array([float(tokens)]))[0]))


@settings(deadline=None)
@given(
    num_decodes=st.integers(0, 256),
    prompts=st.lists(st.integers(1, 20_000), max_size=40),
    num_begun=st.integers(0, 3),
    tpot=st.sampled_from([0.0, 1e-9, 0.005, 0.02, 10.0, 1e9, inf]),
    ttft=st.sampled_from([0.0, 1e-9, 0.5, 1e9, inf]),
    pace=st.floats(1e-4, 1.0),
    said=st.integers(1, 5000),
    most_tokens=st.integers(256, 16384),
    name=st.sampled_from(NAMES),
    is_taught=st.booleans(),
)
def test_budgets_are_within_limits_whatever_is_seen(
    num_decodes: int, prompts: list[int], num_begun: int, tpot: float, ttft: float, pace: float, said: int,
    most_tokens: int, name: str, is_taught: bool,
) -> None:  # fmt: skip
    begun = min(num_begun, len(prompts), 256 - num_decodes)
    seen = view(
        num_decodes, tuple(prompts), tpot_slo_s=tpot, ttft_slo_s=ttft, pace_s=pace, said=said,
        num_begun=begun, most_tokens=most_tokens,
    )  # fmt: skip
    budget = (taught(name) if is_taught else make(name)).choose(seen)
    assert max(num_decodes, 1) <= budget.tokens <= most_tokens
    assert max(seen.num_running, 1) <= budget.requests <= 256
    assert budget.reason


def test_names_are_known() -> None:
    assert make("static-512").choose(view()).tokens == 512
    assert {make(name).name for name in NAMES} == set(NAMES)
    for name in ("best", "static-", "static-x", "lens-5"):
        with pytest.raises(ValueError, match="there are: static, lens, slack"):
            make(name)


def test_lens_comes_near_its_target() -> None:
    lens = taught("lens")
    assert isinstance(lens, Lens)
    seen = view(20, (3000, 3000), tpot_slo_s=0.02)
    budget = lens.choose(seen)
    works_ = np.array([Work(budget.tokens - 20, 2, 20, 0, 0)])
    predicted = lens.model.predict(works_)[0]
    assert predicted == pytest.approx(budget.target_s, rel=2 * EPSILON)
    assert 0.017 < budget.target_s <= 0.02


def test_ours_keeps_the_pace_of_rows_without_slack() -> None:
    seen = view(20, (3000, 3000), tpot_slo_s=0.02, pace_s=0.0199)
    assert step_s(seen, taught("slack").choose(seen).tokens) == pytest.approx(0.02, rel=0.1)


@pytest.mark.parametrize("prompts", [(30_000,), (4000, 300, 4000), (64,) * 60])
def test_ours_takes_as_many_tokens_as_its_target_allows(prompts: tuple[int, ...]) -> None:
    """By what it knows itself, to within 1 %, wherever the engine's steps have an edge."""
    ours = taught("slack")
    assert isinstance(ours, SlackBudget)
    for tpot_slo_s in (0.0125, 0.013, 0.02, 0.04):
        seen = view(20, prompts, tpot_slo_s=tpot_slo_s, pace_s=tpot_slo_s - 1e-4)
        budget = ours.choose(seen)
        places = np.array([budget.tokens, 1.01 * budget.tokens + 2])
        takes_s, longer_s = ours.model.predict(works_at(seen, places))
        assert takes_s <= budget.target_s
        assert longer_s > budget.target_s or budget.tokens == 20 + sum(prompts)


def test_ours_spends_what_rows_have_left() -> None:
    """50 tokens at 15 ms for each of which 20 ms are allowed leave 0.245 s, and the next token's 20 ms."""
    seen = view(20, (30_000,), tpot_slo_s=0.02, pace_s=0.015)
    budget = taught("slack").choose(seen)
    assert budget.target_s == pytest.approx(0.26, abs=0.01)
    assert step_s(seen, budget.tokens) == pytest.approx(0.26, rel=0.15)


def test_the_tightest_row_binds_and_one_that_is_lost_does_not() -> None:
    ours = taught("slack")
    seen = view(3, (30_000,), tpot_slo_s=0.02, pace_s=0.015)
    tight = seen.decodes.slo_s.copy()
    tight[1] = 0.016
    assert ours.choose(seen._replace(decodes=seen.decodes._replace(slo_s=tight))).target_s < 0.1
    tight[1] = 0.012
    bound = ours.choose(seen._replace(decodes=seen.decodes._replace(slo_s=tight)))
    assert bound.target_s == ours.choose(seen).target_s


@pytest.mark.parametrize("tpot_slo_s", [0.0, 1e-12, 0.001, inf])
def test_a_limit_that_no_step_can_keep_binds_nobody(tpot_slo_s: float) -> None:
    budget = taught("slack").choose(view(20, (30_000,), tpot_slo_s=tpot_slo_s))
    assert budget.tokens == 8192
    assert budget.reason == "nobody's limit binds"


@pytest.mark.parametrize("name", ["lens", "slack"])
def test_an_absurd_limit_is_as_good_as_none(name: str) -> None:
    assert taught(name).choose(view(20, (30_000,), tpot_slo_s=1e9, pace_s=0.01)).tokens >= 8184


def test_nobody_is_let_in_where_so_many_decode_that_no_budget_helps() -> None:
    ours = taught("slack")
    for num_decodes in (20, 200):
        seen = view(num_decodes=num_decodes, tpot_slo_s=0.014, pace_s=0.014, prompts=(64,) * 60)
        most = ours.choose(seen).requests
        bears = [n for n in range(1, 257) if seconds_of(Work(0, 0, n, n * 1000.0)) <= 0.014]
        assert most == pytest.approx(max(bears), rel=0.2) or most == num_decodes > max(bears)
    unlimited = view(num_decodes=200, tpot_slo_s=inf, prompts=(64,) * 60)
    assert ours.choose(unlimited).requests == 256


def test_one_row_with_a_tight_limit_keeps_nobody_out() -> None:
    ours, seen = taught("slack"), view(num_decodes=100, tpot_slo_s=1.0)
    seen.decodes.slo_s[0] = 0.0105
    assert ours.choose(seen).requests == 256


def test_prompts_are_never_starved_by_ours() -> None:
    ours = taught("slack")
    assert isinstance(ours, SlackBudget)
    seen = view(200, (3000,), tpot_slo_s=0.0175, pace_s=0.01749)
    assert ours.choose(seen).tokens >= 200 + ours.floor


def test_steps_differ_before_anything_is_learnt_and_grow_only_as_far_as_is_known() -> None:
    ours, rng = SlackBudget("slack"), random.Random(1)
    seen = view(20, (30_000,), tpot_slo_s=1.0)
    sizes = []
    while not ours.model.is_ready:
        sizes.append(ours.choose(seen).tokens - 20)
        work = Work(*works_at(seen, np.array([20.0 + sizes[-1]]))[0])
        ours.measured(work, measured(work, rng))
    assert set(sizes) == {128, 256, 384}
    assert ours.choose(seen).tokens == 20 + 4 * 384


@pytest.mark.performance
@pytest.mark.parametrize("name", ["lens", "slack"])
def test_a_decision_takes_less_than_a_millisecond(name: str) -> None:
    policy, seen = taught(name), view(256, (2000,) * 64, most_tokens=8192)
    seen = seen._replace(most_requests=512)
    times = []
    for _ in range(200):
        started = time.thread_time()
        policy.choose(seen)
        times.append(time.thread_time() - started)
    assert float(np.median(times)) < 1e-3
