"""Wilson's interval beside SciPy's, and how often it holds the share of all rows."""

from __future__ import annotations

import random

import pytest

from relserve.evaluation.intervals import measured_share
from tests.modules import later

stats = later("scipy.stats")


@pytest.mark.parametrize(
    ("hits", "total"), [(0, 1), (1, 1), (0, 50), (41, 50), (50, 50), (397, 400), (7, 9999)]
)
def test_the_interval_is_scipys(hits: int, total: int) -> None:
    found = measured_share(hits, total)
    assert found is not None
    expected = stats.binomtest(hits, total).proportion_ci(0.95, method="wilson")
    assert found.value == hits / total
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_rows_have_no_share() -> None:
    assert measured_share(0, 0) is None


@pytest.mark.parametrize("share", [0.03, 0.3, 0.5, 0.82, 0.95])
def test_the_interval_of_fifty_rows_covers_in_about_95_of_100_draws(share: float) -> None:
    """The least that Wilson's may do at 50 rows, over all shares from 0.02 to 0.98, is 0.92."""
    drawn = random.Random(5)
    covered = 0
    for _ in range(2000):
        found = measured_share(sum(drawn.random() < share for _ in range(50)), 50)
        assert found is not None
        covered += found.low <= share <= found.high
    assert 0.92 <= covered / 2000 <= 0.985
