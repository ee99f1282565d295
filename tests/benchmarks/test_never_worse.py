"""The figures of `never_worse` and `loose_caps`: what they take from latencies."""

from __future__ import annotations

import pytest

from benchmarks import loose_caps
from benchmarks.at_loads import ServedTrace
from benchmarks.never_worse import Figures, NeverWorseCell, TracePair, figures_of, ratios_of, worst_cells


def pair(ours_s: list[float], stock_s: list[float]) -> TracePair:
    names = [f"q{i}" for i in range(len(ours_s))]
    return TracePair(
        ServedTrace(dict(zip(names, ours_s, strict=True)), 1),
        ServedTrace(dict(zip(reversed(names), reversed(stock_s), strict=True)), 3),
    )


def test_a_relquery_is_measured_by_its_own_latency_under_stock() -> None:
    assert ratios_of(pair([3.0, 9.0], [1.0, 8.0])) == [2.0, 1.0]
    assert ratios_of(pair([0.5], [0.1])) == [0.0]  # a second is spared


def test_a_cell_weighs_its_traces_by_their_latencies() -> None:
    found = figures_of([pair([1.0, 1.0], [2.0, 2.0]), pair([30.0, 30.0], [20.0, 20.0])])
    assert found.mean == pytest.approx(31 / 22)
    assert found.p99 == pytest.approx(1.5)
    assert (found.preempted, found.preempted_stock) == (1, 3)


def test_the_99th_percentile_has_an_aim_up_to_load_one_only() -> None:
    low, high = NeverWorseCell("m", "roomy", 1.0, "own"), NeverWorseCell("m", "roomy", 1.4, "own")
    worst = worst_cells({low: Figures(0.5, 2.0, 1.1, 0.01, 0, 0), high: Figures(0.4, 3.0, 2.0, 0, 0, 0)})
    assert worst == {
        "worst_mean_over_stock": (0.5, low),
        "worst_over_own_fcfs": (3.0, high),
        "worst_late_share": (0.01, low),
        "worst_p99_over_stock": (1.1, low),
    }
    assert "worst_p99_over_stock" not in worst_cells({high: Figures(0.4, 3.0, 2.0, 0, 0, 0)})


def test_loose_caps_are_compared_over_all_traces_together() -> None:
    traces = [{"own": 1.0, "256": 2.0, "1024": 1.0}, {"own": 3.0, "256": 2.0, "1024": 5.0}]
    assert loose_caps.over_own(traces) == {"256": 1.0, "1024": 1.5}
