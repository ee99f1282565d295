"""The parts of benchmarks.fleet_faults that need no engine."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from benchmarks.fleet_faults.__main__ import COLUMNS, headline_of, line_of, ratios
from benchmarks.fleet_faults.asked import RowsUnderWay, num_lost, prompts
from benchmarks.fleet_faults.ideal import Undisturbed
from benchmarks.fleet_faults.left import came_of, left
from benchmarks.fleet_faults.members import waiting
from benchmarks.fleet_faults.owners import num_lost_of
from relserve.engines.scripted import ScriptedEngine


def test_replies_are_counted_and_compared() -> None:
    asked = RowsUnderWay(ScriptedEngine(), prompts(40))
    expected = dict(asked.result())
    assert sorted(expected) == list(range(40))
    assert asked.num_twice == 0
    assert num_lost(expected, expected) == 0
    found = {**expected, 3: None, 4: "another"}
    del found[5]
    assert num_lost(expected, found) == 3
    asked.num[7] += 2
    assert asked.num_twice == 2


def test_processes_that_are_left_are_counted() -> None:
    before = came_of(os.getpid())
    child = subprocess.Popen(["sleep", "1000"])
    seen = came_of(os.getpid()) - before
    assert [pid for pid, _ in seen] == [child.pid]
    assert left(seen, 0.1) == 1
    child.kill()
    child.wait()
    assert left(seen) == 0


def test_the_ideal_counts_both_members_until_the_fault() -> None:
    healthy = Undisturbed(both_s=10.0, alone_s=20.0)
    assert healthy.ideal_s("engine", 0.0) == 20.0
    assert healthy.ideal_s("frozen", 0.7) == pytest.approx(13.0)
    assert healthy.slowed_s == pytest.approx(15.0)  # 1/20 and a third of 1/20 of the relQuery a second
    assert healthy.ideal_s("slowed", 0.5) == pytest.approx(12.5)
    assert Undisturbed(both_s=10.0, alone_s=9.0).slowed_s == pytest.approx(9.0)  # a second one adds nothing


def test_runs_that_failed_have_no_ratio() -> None:
    healthy, run = Undisturbed(10.0, 20.0), {"kind": "actor", "at": 50, "s": 18.0, "error": ""}
    found = ratios(run, healthy, 100)
    assert found == pytest.approx({"ideal_s": 15.0, "ratio": 1.2, "over_alone": 0.9})
    assert ratios({**run, "s": 0.0, "error": "EngineError: gone"}, healthy, 100) == {}


def test_rows_are_elsewhere_once_answered_or_asked_of_another() -> None:
    holders = {1: ["a"], 2: ["a", "b"], 3: [], 4: ["b"], 5: ["a"]}
    assert waiting("a", holders, unanswered=[1, 2, 3, 4]) == [1, 3]
    assert waiting("b", holders, unanswered=[]) == []


def test_only_a_statement_that_may_end_loses_nothing_by_its_error() -> None:
    expected: list[str | None] = ["x", "y", "z"]
    assert num_lost_of(expected, [], expected, may_end=True) == 0
    assert num_lost_of(expected, [], expected, may_end=False) == 3
    assert num_lost_of(expected, ["x", None, "z"], ["x", "y"], may_end=False) == 2


def test_lines_and_headline() -> None:
    well = {"lost": 0, "twice": 0, "orphans": 0}
    runs: list[dict[str, Any]] = [
        {"kind": "engine", **well, "elsewhere_s": 0.5, "back_s": 9.0, "ratio": 1.0, "over_alone": 0.5},
        {"kind": "engine", **well, "elsewhere_s": 1.5, "back_s": 8.0, "ratio": 1.2, "over_alone": 0.7},
        {"kind": "engine", **well, "elsewhere_s": None, "back_s": 7.0, "lost": 3},  # ended with an error
        {"kind": "slowed", **well, "elsewhere_s": None, "back_s": None, "ratio": 0.8, "over_alone": 0.8},
        {"kind": "owner", **well, "back_s": 30.0},
        {"kind": "owner", **well, "told_s": 0.3, "lost": 2},
        {"kind": "gateway", "lost": 0, "orphans": 0, "told_s": 0.1},
    ]
    runs[1]["orphans"] = 1
    lines = [line_of(kind, runs) for kind in ("engine", "slowed", "owner", "gateway")]
    assert lines[0] == ["engine", 3, 3, 0, 1, 1.5, 9.0, None, 1.1, 0.6]
    assert lines[2] == ["owner", 2, 2, 0, 0, None, 30.0, 0.3, None, None]
    assert lines[3] == ["gateway", 1, 0, None, 0, None, None, 0.1, None, None]
    assert len(COLUMNS) == len(lines[0])
    assert headline_of(runs, lines) == {
        "faults": 7, "lost": 5, "twice": 0, "orphans": 1, "elsewhere_s": 1.5, "elsewhere_median_s": 1.0,
        "back_s": 9.0, "owner_back_s": 30.0, "told_s": 0.3, "latency_ratio": 1.1, "over_alone": 0.8,
    }  # fmt: skip
