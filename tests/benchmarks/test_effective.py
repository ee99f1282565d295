"""Effective throughput's workloads and judgement: seeds, bursts, two ways to count, the search for a rate."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

import numpy as np
import pytest

from benchmarks.effective.attainment import RequestLimits, RequestRecord, attainment
from benchmarks.effective.lengths import (
    CONTEXT,
    LONG_PROMPT,
    SETS,
    SHAREGPT_OUTPUT,
    SHAREGPT_PROMPT,
    RequestLengths,
    lengths_of,
)
from benchmarks.effective.rates import Curve
from benchmarks.effective.workload import gaps, workload
from benchmarks.provenance import ROOT

FOLDER = Path(os.environ.get("RELSERVE_DATA", ROOT.parent / "shared" / "data"))
SLO = RequestLimits(ttft_s=1.0, tbt_s=0.5)
SOME = [RequestLengths(10, 5), RequestLengths(20, 7), RequestLengths(30, 9)]


@pytest.mark.parametrize("cv", [1.0, 5.0, 10.0])
def test_gaps_have_the_mean_and_the_variation_asked_for(cv: float) -> None:
    drawn = gaps(cv, 400_000, 1)
    assert drawn.mean() == pytest.approx(1.0, rel=0.06)
    assert drawn.std() / drawn.mean() == pytest.approx(cv, rel=0.1)


def test_a_seed_draws_the_same_requests_at_every_rate_and_variation() -> None:
    slow, fast = workload(SOME, 1.0, 5.0, 50, 3), workload(SOME, 4.0, 5.0, 50, 3)
    assert [a.arrival_s for a in slow] == pytest.approx([4 * a.arrival_s for a in fast])
    assert [a[1:] for a in slow] == [a[1:] for a in fast] == [a[1:] for a in workload(SOME, 1.0, 1.0, 50, 3)]
    assert slow != workload(SOME, 1.0, 5.0, 50, 4)
    assert slow[-1].arrival_s == pytest.approx(49.0)


def test_a_rate_and_a_variation_must_be_positive() -> None:
    with pytest.raises(ValueError, match="rate is 0"):
        workload(SOME, 0.0, 1.0, 5, 1)
    with pytest.raises(ValueError, match="coefficient of variation"):
        workload(SOME, 1.0, -1.0, 5, 1)


@pytest.mark.cells(1)
@pytest.mark.data
@pytest.mark.skipif(not FOLDER.is_dir(), reason="no real traces: set RELSERVE_DATA")
@pytest.mark.parametrize("name", SETS)
def test_every_request_of_a_set_fits_the_context(name: str) -> None:
    found = lengths_of(name)
    assert len(found) > 100
    assert all(lengths.num_prompt > 0 < lengths.num_output for lengths in found)
    assert max(sum(lengths) for lengths in found) <= CONTEXT
    assert name != "summarisation" or min(found).num_prompt >= LONG_PROMPT


def test_the_drawn_set_has_the_means_that_it_stands_for() -> None:
    means = np.mean(lengths_of("sharegpt"), axis=0)
    assert means == pytest.approx([SHAREGPT_PROMPT, SHAREGPT_OUTPUT], rel=0.01)


def test_an_unknown_set_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'poems'.*chat, code"):
        lengths_of("poems")


def test_one_pause_escapes_the_percentile_and_not_the_strict_count() -> None:
    times = np.cumsum(np.full(301, 0.1))
    paused = times + np.where(np.arange(301) > 150, 60.0, 0.0)
    found = attainment([RequestRecord(0.0, times), RequestRecord(0.0, paused)], SLO)
    assert (found.attained, found.strict, found.ttft) == (1.0, 0.5, 1.0)
    assert found.finished_per_s == pytest.approx(2 / 90.1)
    assert found.p99_s == pytest.approx(90.1)


def test_late_unfinished_and_silent_requests_do_not_attain() -> None:
    records = [
        RequestRecord(0.0, [1.0, 1.5]), RequestRecord(0.0, [1.01, 1.2]), RequestRecord(0.0, [0.1, 0.7]),
        RequestRecord(0.0, [0.1, 0.2], is_finished=False), RequestRecord(0.0, [], is_finished=False),
        RequestRecord(5.0, [5.5]),
    ]  # fmt: skip
    found = attainment(records, SLO)
    assert found.attained == found.strict == pytest.approx(2 / 6)
    assert found.ttft == pytest.approx(4 / 6)
    assert found.finished_per_s == pytest.approx(4 / 5.5)
    assert found.p99_s == found.worst_ttft_s == inf
    with pytest.raises(ValueError, match="no request"):
        attainment([], SLO)


@pytest.mark.parametrize("start", [0.3, 2.0, 7.9])
def test_the_rate_of_a_level_is_found_from_any_start(start: float) -> None:
    curve = Curve(lambda rate: max(0.0, 1 - rate / 10), start, 0.01, 100.0)
    assert curve.rate_at(0.9) == pytest.approx(1.0, rel=1e-6)
    assert curve.rate_at(0.6) == pytest.approx(4.0, rel=1e-6)
    assert len(curve.measured) < 40
    assert curve.at(start) == 1 - start / 10


def test_the_first_fall_counts_where_attainment_is_not_monotone() -> None:
    curve = Curve(lambda rate: 0.5 if 2 <= rate <= 3 else 0.95, 1.0, 0.1, 30.0)
    assert curve.rate_at(0.9) == pytest.approx(2.0, rel=0.03)


def test_beyond_the_limits_the_limit_is_given() -> None:
    assert Curve(lambda _: 1.0, 1.0, 0.5, 4.0).rate_at(0.9) == 4.0
    assert Curve(lambda _: 0.0, 1.0, 0.5, 4.0).rate_at(0.9) == 0.5
    with pytest.raises(ValueError, match="lowest"):
        Curve(lambda _: 1.0, 1.0, 2.0, 4.0)
