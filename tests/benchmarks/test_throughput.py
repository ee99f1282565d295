"""The parts of benchmarks.throughput that start no engine: rates, ratios, the names of its figures."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from benchmarks.common import ROOT
from benchmarks.throughput import OURS, VLLM, checkout, lines_of, named, rate, ratios
from benchmarks.throughput_child import ThroughputRun, hash_of, timed


def run(seconds: float) -> ThroughputRun:
    return ThroughputRun(seconds, 0.1, 0.2, 900, 100, "hash")


def test_tokens_are_those_of_prompts_and_replies() -> None:
    assert rate(run(2.0)) == 500.0


def test_ratios_are_those_within_a_turn() -> None:
    runs = {OURS: [run(2.0), run(8.0)], VLLM: [run(1.0), run(16.0)]}
    assert ratios(runs, OURS, VLLM) == [0.5, 2.0]
    ours, theirs = lines_of("choice", runs)
    assert ours == ["choice", OURS, 312.5, 125.0, 500.0, 1.25, 0.5, 2.0]
    assert theirs[-3:] == [1.0, 1.0, 1.0]


def test_the_first_workload_has_the_plain_names() -> None:
    assert named("sql_over_vllm", "choice", 1.23456) == {"sql_over_vllm": 1.235}
    assert named("same_replies", "text", True) == {"same_replies_text": True}


def test_only_a_checkout_can_be_compared_with(tmp_path: Path) -> None:
    assert checkout(str(ROOT)) == ROOT
    with pytest.raises(ArgumentTypeError, match="no checkout"):
        checkout(str(tmp_path))


def test_replies_are_hashed_without_the_space_around_them() -> None:
    assert hash_of(["yes", None]) == hash_of([" yes ", None]) != hash_of([None, "yes"])


def test_a_run_is_timed_by_the_clock_and_by_the_work_of_its_processes() -> None:
    result, (seconds, front_s, engine_s) = timed(lambda: sum(range(300_000)))
    assert result == 44_999_850_000
    assert 0 < seconds
    assert 0 < front_s
    assert 0 <= engine_s  # other tests' engines may be alive in this process
