"""Which prompts let others go first."""

from __future__ import annotations

from math import inf

from relserve.policies.budget.late import PATIENCE, SPARE, Waiting, late

TOKEN_S = 1e-3


def test_late_ones_wait_as_long_as_somebody_can_be_in_time() -> None:
    late_one = Waiting("late", waited_s=0.8, limit_s=1.0, tokens=300)
    fair = Waiting("fair", waited_s=0.1, limit_s=1.0, tokens=300)
    free = Waiting("free", waited_s=5.0, limit_s=inf, tokens=300)
    assert late([late_one, fair, free], TOKEN_S) == {"late"}
    assert late([late_one, free], TOKEN_S) == frozenset()
    assert late([late_one], TOKEN_S) == frozenset()
    assert late([], TOKEN_S) == frozenset()


def test_a_prompt_must_have_some_time_to_spare() -> None:
    fair = Waiting("fair", 0.0, 1.0, 1)
    for tokens, is_late in [(1000, True), (int(1000 / SPARE), False), (int(1000 / SPARE) + 1, True)]:
        assert bool(late([Waiting("one", 0.0, 1.0, tokens), fair], TOKEN_S)) is is_late


def test_nobody_waits_for_ever() -> None:
    fair = Waiting("fair", 0.0, 1.0, 1)
    assert late([Waiting("one", PATIENCE - 0.1, 1.0, 1), fair], TOKEN_S) == {"one"}
    assert late([Waiting("one", PATIENCE, 1.0, 1), fair], TOKEN_S) == frozenset()


def test_as_long_as_no_step_was_measured_those_are_late_whose_limit_is_over() -> None:
    fair = Waiting("fair", 0.0, 1.0, 10_000)
    assert late([Waiting("one", 1.1, 1.0, 10), fair], 0.0) == {"one"}
    assert late([Waiting("one", 0.9, 1.0, 10), fair], 0.0) == frozenset()
