"""When rows may break their limits for the sake of prompts that wait."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from relserve.policies.budget.burst import SURE, Pace, is_somebody_late, pays
from relserve.policies.budget.ours import Ours
from relserve.policies.budget.state import View
from tests.policies.budget.seen import view
from tests.policies.budget.test_budgets import taught

PACE = Pace(steady=1e-3, full=1e-4, step_s=0.1, alone_s=0.01)


def waiting(num_rows: int, num_prompts: int, pace_s: float, ttft_slo_s: float = 1.0) -> View:
    """Rows that have said 50 tokens at a pace, with 50 to come and 20 ms a token; prompts of 1,000 tokens."""
    return view(num_rows, (1000,) * num_prompts, pace_s=pace_s, ttft_slo_s=ttft_slo_s)


def test_more_prompts_saved_than_rows_lost() -> None:
    """Of ten prompts all but the first would be late, and a burst of 1 s takes all that rows have left."""
    assert pays(waiting(9 - SURE - 1, 10, pace_s=0.02), PACE)
    assert not pays(waiting(9 - SURE, 10, pace_s=0.02), PACE)


def test_rows_with_time_to_spare_lose_nothing() -> None:
    assert pays(waiting(100, 10, pace_s=0.011), PACE)


def test_rows_that_are_lost_already_lose_nothing() -> None:
    assert pays(waiting(100, 10, pace_s=0.05), PACE)


def test_prompts_that_would_be_late_in_any_case_save_nothing() -> None:
    assert not pays(waiting(1, 10, pace_s=0.02, ttft_slo_s=0.05), PACE)
    assert not pays(waiting(1, 10, pace_s=0.02, ttft_slo_s=inf), PACE)


def test_prompts_whose_answers_the_burst_would_break_save_nothing() -> None:
    slow = Pace(steady=1e-2, full=5e-4, step_s=2.0, alone_s=0.01)  # 5 s; the first waits 4.5 s for its second
    seen = waiting(1, 10, pace_s=0.02, ttft_slo_s=6.0)
    assert not pays(seen, slow)
    patient = seen.prompts._replace(tpot_slo_s=np.full(10, 0.1))
    assert pays(seen._replace(prompts=patient), slow)


@pytest.mark.parametrize(("ttft_slo_s", "late"), [(1.0, True), (3.0, False), (inf, False), (-1.0, False)])
def test_who_is_late(ttft_slo_s: float, late: bool) -> None:
    assert is_somebody_late(waiting(3, 2, pace_s=0.02, ttft_slo_s=ttft_slo_s), 1e-3) is late


def test_ours_bursts_where_prompts_have_a_limit_and_would_miss_it() -> None:
    ours, never = taught(Ours("ours")), taught(Ours("ours", bursts=False))
    for num_prompts, ttft_slo_s, bursts in [(36, 0.5, True), (36, inf, False), (1, 0.5, False)]:
        seen = view(2, (500,) * num_prompts, ttft_slo_s=ttft_slo_s)
        budget = ours.choose(seen)
        assert (budget.reason == "prompts would be late") is bursts, budget
        assert (budget.tokens == seen.most_tokens) is bursts
        assert never.choose(seen).tokens < seen.most_tokens


def test_nobody_bursts_before_steps_are_known() -> None:
    assert Ours("ours").choose(view(3, (8000,) * 9, ttft_slo_s=0.5)).reason == "nothing learnt"
