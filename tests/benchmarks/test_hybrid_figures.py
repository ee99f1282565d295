"""The rate at which attainment falls below a level, and runs of several seeds as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.effective.attainment import Attainment
from benchmarks.hybrid.figures import Crossing, crossing, draw, pooled


def test_between_two_rates_it_is_on_their_line() -> None:
    found = crossing({1.0: 1.0, 3.0: 0.6, 2.0: 0.95}, 0.9)
    assert found.bound == "exact"
    assert found.rate == pytest.approx(2 + 0.05 / 0.35)
    assert str(found) == "2.14"


def test_the_first_fall_counts() -> None:
    assert crossing({1.0: 1.0, 2.0: 0.8, 3.0: 0.95}, 0.9).rate == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("attained", "rate", "bound"),
    [({2.0: 0.5, 4.0: 0.4}, 2.0, "at most"), ({2.0: 0.9, 4.0: 0.9}, 4.0, "at least")],
)
def test_beyond_what_was_measured(attained: dict[float, float], rate: float, bound: str) -> None:
    found = crossing(attained, 0.9)
    assert (found.rate, found.bound) == (rate, bound)
    assert str(found) == f"{bound} {rate:g}"


def test_a_ratio_is_given_where_it_is_so_much_at_least() -> None:
    exact, low, high = Crossing(2.0), Crossing(2.0, "at most"), Crossing(4.0, "at least")
    assert [each.over(exact) for each in (exact, low, high)] == [1.0, None, 2.0]
    assert [high.over(each) for each in (low, high)] == [2.0, None]


def test_nothing_measured() -> None:
    with pytest.raises(ValueError, match="no rate"):
        crossing({}, 0.9)


def test_seeds_are_one_run_whose_worst_wait_is_the_worst() -> None:
    both = pooled([Attainment(1.0, 0.5, 1.0, 10.0, 2.0, 3.0), Attainment(0.5, 0.5, 0.8, 20.0, 4.0, 1.0)])
    assert both == Attainment(0.75, 0.5, 0.9, 15.0, 3.0, 3.0)


@pytest.mark.long
def test_a_plot_is_drawn(tmp_path: Path) -> None:
    attained = {"stock": {1.0: Attainment(0.9, 0.8, 1.0, 10.0, 2.0, 3.0)}}
    draw(tmp_path / "plot.png", attained, 0.9)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
