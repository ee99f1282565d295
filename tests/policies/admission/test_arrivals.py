"""How many requests come in a second."""

from __future__ import annotations

import pytest

from relserve.policies.admission.arrivals import ArrivalRates
from relserve.policies.admission.policy import Learnt


def foreseen(seconds: float, per_s: float, pause_s: float) -> float:
    """Requests a second that are foreseen after so many seconds of them and a pause."""
    arrivals, group, now_s = ArrivalRates(), Learnt(), 100.0
    for _ in range(round(seconds * per_s)):
        arrivals.passed([group], 1 / per_s)
        now_s += 1 / per_s
        arrivals.came(group, now_s)
    arrivals.passed([group], pause_s)
    return group.per_s * arrivals.unseen(now_s + pause_s)


@pytest.mark.parametrize("seconds", [2, 5, 60])
def test_as_many_come_as_came(seconds):
    assert foreseen(seconds, 8.0, 0.1) == pytest.approx(8.0, rel=0.3)


def test_after_a_pause_that_is_no_chance_fewer_come():
    before, after = foreseen(60, 8.0, 0.3), foreseen(60, 8.0, 3.0)
    assert before > 7.0
    assert after < 2.0


def test_a_pause_says_nothing_where_few_come():
    assert foreseen(60, 0.5, 4.0) > 0.2


def test_nothing_is_foreseen_before_anything_came():
    assert ArrivalRates().unseen(5.0) > 0
