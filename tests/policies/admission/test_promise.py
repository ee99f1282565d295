"""What a promise remembers of how much more work requests took than was expected, and what it makes of it."""

from __future__ import annotations

import pytest

from relserve.policies.admission.promise import (
    BEYOND,
    ENOUGH,
    FIRST,
    LATEST,
    LEAST,
    MEMORY_S,
    MOST_GROUPS,
    SILENT_S,
    Promise,
)


def promise(*took: float, group: str = "g") -> Promise:
    """After requests of 100 tokens' work that took so much."""
    its = Promise(kept=0.9)
    for number, work in enumerate(took):
        its.started(f"{group}{number}", group, 100.0)
        its.ended(f"{group}{number}", work, 0.0)
    return its


def test_the_quantile_that_is_promised_stretches_what_is_expected() -> None:
    its = promise(*range(110, 210))
    above = [number for number in range(110, 210) if number / 100 > its.stretch("g")]
    assert len(above) in (8, 9, 10)


def test_what_takes_less_than_expected_shrinks_nothing() -> None:
    assert promise(*[50.0] * 50).stretch("g") == 1.0


def test_little_is_known_of_a_new_group_and_nothing_at_first() -> None:
    assert Promise().stretch("g") == FIRST
    assert promise(*[300.0] * (ENOUGH - 1)).stretch("g") == FIRST
    assert promise(*[300.0] * ENOUGH).stretch("another") == 3.0


def test_groups_are_told_apart() -> None:
    its = promise(*[300.0] * 50)
    for number in range(50):
        its.started(str(number), "quick", 100.0)
        its.ended(str(number), 110.0, 0.0)
    assert its.stretch("g") == 3.0
    assert its.stretch("quick") == pytest.approx(1.1)


def test_one_given_up_at_its_deadline_would_have_taken_more() -> None:
    its = promise(*[100.0] * 20)
    for number in range(20):
        its.started(f"cut {number}", "g", 100.0)
        its.ended(f"cut {number}", 200.0, 0.0, is_cut=True)
    assert its.stretch("g") > 2.0


def test_one_given_up_before_tells_nothing() -> None:
    its = promise(*[100.0] * 20)
    for number in range(20):
        its.started(f"gone {number}", "g", 100.0)
        its.ended(f"gone {number}", 0.0, 0.0)
        its.ended(f"gone {number}", 900.0, 0.0)
    assert its.stretch("g") == 1.0


def test_what_is_long_ago_is_forgotten() -> None:
    its = promise(*[900.0] * 50)
    its.passed(MEMORY_S - 1)
    assert its.stretch("g") == 9.0
    its.passed(MEMORY_S + 1)
    assert its.stretch("g") == FIRST


def test_a_group_that_nobody_of_ended_lately_is_taken_as_all_are() -> None:
    its = promise(*[900.0] * 50)
    for number in range(LATEST):
        its.started(f"other {number}", "other", 100.0)
        its.ended(f"other {number}", 120.0, SILENT_S)
    its.passed(SILENT_S)
    assert its.stretch("g") == 9.0
    its.passed(SILENT_S + 0.1)
    assert its.stretch("g") == pytest.approx(1.2, abs=0.3)


def test_memory_is_bounded() -> None:
    its = Promise()
    for number in range(2 * MOST_GROUPS):
        its.started("r", f"group {number}", 100.0)
        its.ended("r", 200.0, 0.0)
    for number in range(2 * LATEST):
        its.started("r", "g", 100.0)
        its.ended("r", 300.0 if number < LATEST else 110.0, 0.0)
    assert its.stretch("g") == pytest.approx(1.1)
    assert len(its._groups) == MOST_GROUPS


def test_twice_as_many_may_run_as_kept_their_limits() -> None:
    its = Promise()
    assert its.most == LEAST
    its.proved(40)
    its.proved(20)
    assert its.most == BEYOND * 40
    its.passed(1.0)
    assert BEYOND * 39 < its.most < BEYOND * 40
    its.passed(1000.0)
    assert its.most == LEAST
