"""The confidence sequence for wrong rows, and BARGAIN's betting bound."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.policies.cascading.bargain import mean_is_above
from relserve.policies.cascading.counting import WrongRows


@pytest.mark.parametrize("num_wrong", [3, 20, 120])
def test_a_bound_is_exceeded_at_any_time_no_oftener_than_promised(num_wrong: int) -> None:
    random, missed = np.random.default_rng(num_wrong), 0
    population = np.arange(200) < num_wrong
    for _ in range(300):
        hits = np.cumsum(random.permutation(population))
        sequence = WrongRows(200, 20, 5, 0.1)
        missed += any(sequence.holds(t + 1, int(hits[t]), num_wrong - 1) for t in range(0, 199, 3))
    assert missed <= 300 * 0.1 + 3 * np.sqrt(300 * 0.09)


@pytest.mark.parametrize(("draws", "hits"), [(0, 0), (30, 0), (30, 2), (90, 5), (100, 7)])
def test_the_bound_is_the_least_limit_that_holds(draws: int, hits: int) -> None:
    sequence = WrongRows(100, 12, 2, 0.05)
    bound = sequence.bound(draws, hits)
    assert sequence.holds(draws, hits, bound)
    assert bound == hits or not sequence.holds(draws, hits, bound - 1)


def test_all_rows_drawn_leave_no_doubt() -> None:
    assert WrongRows(100, 12, 2, 0.05).bound(100, 7) == 7


def test_the_draws_that_are_asked_for_suffice_and_one_less_does_not() -> None:
    sequence = WrongRows(1000, 20, 3, 0.05)
    needed = sequence.draws_needed(50, 1, 20)
    assert sequence.holds(50 + needed, 1, 20)
    assert not sequence.holds(50 + needed - 1, 1, 20)


def test_without_a_wrong_row_few_more_draws_are_taken_than_the_exact_test_at_one_look() -> None:
    """(1 - f)^21 <= 0.05 needs 13.3 % of the rows."""
    assert WrongRows(10_000, 20, 0, 0.05).draws_needed(0, 0, 20) < 1.35 * 1330


@pytest.mark.parametrize("num_rows", [None, 400])
def test_the_betting_bound_is_wrong_no_oftener_than_promised(num_rows: int | None) -> None:
    random, missed = np.random.default_rng(1), 0
    population = (np.arange(400) < 355).astype(float)  # a mean of 0.8875
    for _ in range(300):
        values = random.permutation(population)[:200] if num_rows else random.choice(population, 200)
        missed += mean_is_above(values, 0.9, 0.1, num_rows)
    assert missed <= 300 * 0.1 + 3 * np.sqrt(300 * 0.09)


def test_the_betting_bound_sees_a_mean_that_is_far_above() -> None:
    assert mean_is_above(np.ones(100), 0.9, 0.05)
    assert not mean_is_above(np.ones(5), 0.9, 0.05)
