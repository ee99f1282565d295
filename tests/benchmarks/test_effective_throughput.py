"""Which rates are measured of which ways, and what the headline makes of them; engines are played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.effective.attainment import Attainment, RequestLimits
from benchmarks.effective.lengths import RequestLengths
from benchmarks.effective_throughput import (
    BUDGETS,
    LEAST,
    MULTIPLES,
    Comparison,
    RateAttainment,
    RequestTraces,
    ThroughputRegime,
    budget_of,
    compare,
    headline,
    rows,
    told,
)
from benchmarks.hybrid.ways import OURS, STOCK, WAYS, engine_of, numbers

REACHES = {STOCK: (1.0, 0.8), "absorbed + FCFS": (1.5, 1.1), OURS: (3.0, 2.0)}  # P99, every gap


def attained(limit: float, rate: float) -> float:
    return min(1.0, max(0.0, 0.9 - (rate - limit) / 5))


class Played(Comparison):
    """Attainment falls from 90 % at a way's rate on; stock finishes no more than 1.2 a second."""

    def __init__(self) -> None:
        super().__init__([], RequestTraces([RequestLengths(1, 1)], 1), RequestLimits(1.0, 1.0), 1)
        self.asked: list[tuple[tuple[str, ...], float]] = []

    def measure(self, ways: Sequence[str], rate: float) -> None:
        self.asked.append((tuple(ways), rate))
        for way in ways:
            by_p99, strict = REACHES[way]
            finished = min(rate, 1.2) if way == STOCK else rate
            got = Attainment(attained(by_p99, rate), attained(strict, rate), 1.0, finished, 1.0, 1.0)
            self.found.setdefault(way, {})[rate] = RateAttainment(got, 5, 1, 0)


def played() -> Played:
    comparison = Played()
    compare(comparison, list(REACHES), 1.0)
    return comparison


def test_each_way_is_measured_until_its_rates_are_bracketed() -> None:
    found = played().found
    assert sorted(found["absorbed + FCFS"]) == [1.0, 1.2, 1.44, 1.73]
    assert sorted(found[OURS]) == list(MULTIPLES[2:])


def test_stock_goes_up_with_the_last_and_down_to_its_strict_rate() -> None:
    assert sorted(played().found[STOCK]) == list(MULTIPLES)


def test_every_rate_is_measured_in_one_turn() -> None:
    assert len({rate for _, rate in played().asked}) == len(played().asked)


def test_headline_is_relative_to_stock_at_the_same_rates() -> None:
    found = headline(played().found)
    assert found["at_90"] == pytest.approx(2.07, abs=0.01)
    assert 2.3 < found["at_90_strict"] < 2.6
    assert found["finished_over_stock"] == 1.0
    assert headline(played().found, "absorbed + FCFS")["at_90"] == pytest.approx(1.5, abs=0.001)


def test_rows_are_by_rate() -> None:
    table = rows(played().found, 2.0)
    assert [line[1] for line in table] == sorted(line[1] for line in table)
    assert table[0][:2] == [STOCK, 0.35]


def test_the_pool_is_a_share_of_the_load_but_holds_a_request() -> None:
    regime: Any = ThroughputRegime(RequestLimits(1.0, 1.0), 10.0, 200, {}, 64, 1.0)
    assert regime.num_blocks == 80
    assert regime._replace(load_blocks=1).num_blocks == LEAST


def test_settings_are_such_as_the_scheduler_reads() -> None:
    from relserve.vllm_plugin.settings import read

    for way in WAYS.values():
        settings = way.settings or {}
        assert read({"relserve": settings}).cache == settings.get("cache", "kv")


def test_a_way_that_never_reaches_the_level_has_no_ratio() -> None:
    comparison = played()
    comparison.found[OURS] = {
        rate: each._replace(attained=each.attained._replace(attained=0.2, strict=0.2))
        for rate, each in comparison.found[OURS].items()
    }
    found = headline(comparison.found)
    assert found["at_90"] is None
    assert found["at_90_strict"] is None


def test_the_budget_is_the_largest_whose_step_keeps_the_limit() -> None:
    assert budget_of({"ttft": 30.0, "tbt": 10.0}, 40.0) == 32  # half a millisecond a token, twenty are left
    assert budget_of({"ttft": 10.0, "tbt": 10.0}, 40.0) == BUDGETS[-1]
    assert budget_of({"ttft": 900.0, "tbt": 10.0}, 40.0) == BUDGETS[0]


def test_fp8_keeps_as_many_tokens_more_as_its_numbers_are_shorter() -> None:
    kv, fp8 = (engine_of(way, 10).kv_tokens for way in (WAYS[STOCK], WAYS["ours, fp8 KV"]))
    assert fp8 == numbers().kv_bytes * kv


def test_everything_measured_is_told() -> None:
    found = told(played().found)
    assert [each["rate"] for each in found[STOCK]] == list(MULTIPLES)
    assert {name: found[OURS][0][name] for name in ("rate", "at_once", "leaked")} == {
        "rate": 1.0, "at_once": 5, "leaked": 0,
    }  # fmt: skip
