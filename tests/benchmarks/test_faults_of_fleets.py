"""The parts of benchmarks.fleet_faults that need no engine."""

from __future__ import annotations

import os
import subprocess

from benchmarks.fleet_faults.__main__ import COLUMNS, headline_of, line_of
from benchmarks.fleet_faults.asked import Asked, num_lost, prompts
from benchmarks.fleet_faults.left import came_of, left
from relserve.engines.scripted import ScriptedEngine


def test_replies_are_counted_and_compared() -> None:
    asked = Asked(ScriptedEngine(), prompts(40))
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


def test_lines_and_headline() -> None:
    well = {"lost": 0, "twice": 0, "orphans": 0}
    runs = [
        {"kind": "engine", **well, "elsewhere_s": 0.5, "back_s": 9.0, "ratio": 1.0},
        {"kind": "engine", **well, "elsewhere_s": 1.5, "back_s": 8.0, "ratio": 1.2, "orphans": 1},
        {"kind": "slowed", **well, "elsewhere_s": None, "back_s": None, "ratio": 0.8},
        {"kind": "owner", **well, "back_s": 30.0},
        {"kind": "owner", **well, "told_s": 0.3, "lost": 2},
    ]
    lines = [line_of(kind, runs) for kind in ("engine", "slowed", "owner")]
    assert lines[0] == ["engine", 2, 0, 0, 1, 1.5, 9.0, None, 1.1]
    assert lines[2] == ["owner", 2, 2, 0, 0, None, 30.0, 0.3, None]
    assert len(COLUMNS) == len(lines[0])
    assert headline_of(runs, lines) == {
        "faults": 5, "lost": 2, "twice": 0, "orphans": 1, "elsewhere_s": 1.5, "elsewhere_median_s": 1.0,
        "back_s": 9.0, "told_s": 0.3, "latency_ratio": 1.1,
    }  # fmt: skip
