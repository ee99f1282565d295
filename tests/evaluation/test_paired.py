"""McNemar's exact test beside SciPy's binomial test."""

from __future__ import annotations

import pytest

from relserve.evaluation.scores import PairedRows, paired
from tests.modules import later

stats = later("scipy.stats")


@pytest.mark.parametrize(("first", "second"), [(0, 1), (3, 3), (10, 11), (2, 12), (0, 40), (2600, 2400)])
def test_the_p_value_is_that_of_a_fair_coin(first: int, second: int) -> None:
    expected = stats.binomtest(first, first + second, 0.5).pvalue
    assert PairedRows(8, first, second, 15).p_value == pytest.approx(expected, rel=1e-9)


def test_calls_that_never_differ_are_equal() -> None:
    assert PairedRows(20, 0, 0, 5).p_value == 1.0


def test_rows_are_counted_by_who_is_right() -> None:
    assert paired([True, True, False, False, True], [True, False, True, False, True]) == (2, 1, 1, 1)
