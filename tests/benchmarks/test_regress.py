"""Quick runs held against those of before: what is worse, and what a child process is told to have done."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from typing import Any

import psutil
import pytest

from benchmarks.claims import Benchmark, Exact, Higher, Lower, Rule, Untold
from benchmarks.provenance import machine
from benchmarks.regress.__main__ import RegressOutcome, better_of, for_machine, headline_of, renewed, untold
from benchmarks.regress.children import EndedRun, end, lacking, run_quick, start
from benchmarks.regress.judge import BETTER, GONE, NEW, OK, WORSE, WRONG, FigureVerdict, judged
from tests.waiting import wait_until


def word(rule: Rule, now: Any, before: Any, slower: float | None = 1.0) -> str:
    """The verdict on one figure."""
    (verdict,) = judged(Benchmark("speed", (), {"x": rule}, {}), {"x": now}, {"x": before}, slower, None)
    return verdict.word


@pytest.mark.parametrize(
    ("rule", "now", "before", "expected"),
    [
        (Higher(0.1), 0.91, 1.0, OK), (Higher(0.1), 0.89, 1.0, WORSE), (Higher(0.1), 1.2, 1.0, BETTER),
        (Lower(0.1), 1.09, 1.0, OK), (Lower(0.1), 1.11, 1.0, WORSE),
        (Higher(by=0.5), -1.4, -1.0, OK), (Higher(by=0.5), -1.6, -1.0, WORSE),
        (Lower(0.5, by=1), 2.4, 1.0, OK), (Lower(), 1.0, 1.0, OK), (Lower(), 1.1, 1.0, WORSE),
        (Lower(0.5), None, None, OK), (Lower(0.5), None, 1.0, GONE), (Lower(0.5), math.nan, 1.0, GONE),
        (Lower(0.5), 1.0, None, NEW),
        (Exact(0), 0, 0, OK), (Exact(0), 1, 1, WRONG), (Exact([]), ["x"], [], WRONG),
    ],
)  # fmt: skip
def test_a_figure_is_worse_by_more_than_its_spread(rule: Rule, now: Any, before: Any, expected: str) -> None:
    assert word(rule, now, before) == expected


def test_an_interval_is_held_against_its_worse_end() -> None:
    rule = Higher(0.1, interval=True)
    assert word(rule, [1.45, 1.3, 1.6], [2.0, 1.7, 2.6]) == WORSE
    assert word(rule, [1.55, 1.3, 1.6], [2.0, 1.7, 2.6]) == OK  # 1.7, less a tenth of 2.0


def test_what_goes_by_the_clock_is_compared_at_one_speed() -> None:
    assert word(Lower(0.2, timed=True), 20.0, 10.0) == WORSE
    assert word(Lower(0.2, timed=True), 20.0, 10.0, slower=2.0) == OK
    assert word(Higher(0.2, timed=True), 50.0, 100.0, slower=2.0) == OK
    assert word(Lower(0.2), 20.0, 10.0, slower=2.0) == WORSE  # a ratio does not


def test_on_another_machine_only_what_no_cpu_changes_is_held() -> None:
    assert word(Lower(0.2, timed=True), 20.0, 10.0, slower=None) == NEW
    assert word(Lower(0.2, by_cpu=True), 20.0, 10.0, slower=None) == NEW
    assert word(Lower(0.2, by_cpu=True), 20.0, 10.0) == WORSE
    assert word(Lower(0.2), 20.0, 10.0, slower=None) == WORSE


def test_a_run_on_this_machine_is_held_against_before_one_on_another() -> None:
    days = {"here": "2026-11-01", "there": "2026-11-02", "elsewhere": "2026-11-03"}
    runs = [{"name": "speed", "machine": kind, "date": day} for kind, day in days.items()]
    found = [for_machine(runs, kind)["speed"]["machine"] for kind in ("here", "there", "anywhere")]
    assert found == ["here", "there", "elsewhere"]


def test_a_figure_that_is_gone_and_one_that_is_new_are_told() -> None:
    rules = {"a": Lower(), "b": Exact(0), "c": Lower(), "rows": Untold("a size")}
    benchmark = Benchmark("speed", (), rules, {})
    found = judged(benchmark, {"c": 1, "rows": 7}, {"a": 2}, 1.0, {"c": 4})
    assert {each.figure: each.word for each in found} == {"a": GONE, "b": GONE, "c": NEW}
    assert next(each.full for each in found if each.figure == "c") == 4
    assert untold(benchmark, {"c": 1, "rows": 7, "more": 1}) == {
        "a size": ["rows"], "no rule is declared": ["more"],
    }  # fmt: skip


def outcome(*words: str) -> RegressOutcome:
    """Of a run with a figure for each word."""
    used = {WORSE: 2.0, WRONG: math.inf}
    verdicts = [FigureVerdict(f"f{i}", each, 1, 1, used.get(each, 0.1), None) for i, each in enumerate(words)]
    return RegressOutcome("speed", EndedRun({"f": 1}, "", 1.0, 0.1), verdicts)


def test_only_what_may_be_the_moments_is_run_again_and_the_better_counts() -> None:
    assert outcome(OK, WORSE).may_repeat
    assert not outcome(WORSE, WRONG).may_repeat
    assert not outcome(OK, NEW).may_repeat
    assert better_of(outcome(OK, WORSE), outcome(OK, OK)).word == OK
    assert better_of(outcome(OK, WORSE), outcome(WORSE, OK)).word == OK
    assert better_of(outcome(OK, WORSE), outcome(OK, WORSE)).word == WORSE
    assert better_of(outcome(OK, WORSE), outcome(WRONG, OK)).word == WRONG
    failed = RegressOutcome("speed", EndedRun(None, "ended with status 1", 1.0, 0.1), ())
    assert better_of(outcome(OK, WORSE), failed).word == "failed"


def test_the_headline_names_what_is_not_well() -> None:
    failed = RegressOutcome("broken", EndedRun(None, "ended with status 1", 1.0, 0.1), ())
    skipped = RegressOutcome("absent", EndedRun(None, "skipped: needs psql", 0.0, 0.0), ())
    assert headline_of([outcome(OK, WORSE, NEW), failed, skipped]) == {
        "benchmarks": 3, "held": 2, "new": 1, "worse": ["speed f1"], "failed": ["broken"],
        "skipped": ["absent"],
    }  # fmt: skip


def test_only_what_came_to_its_end_is_renewed() -> None:
    failed = RegressOutcome("broken", EndedRun(None, "ended with status 1", 1.0, 0.1), ())
    before = [{"name": name, "machine": kind, "headline": {"s": 1}} for name, kind in
              (("broken", machine()), ("speed", "another"), ("speed", machine()))]  # fmt: skip
    kept = {(each["name"], each["machine"]): each for each in renewed(before, [outcome(OK), failed])}
    assert len(kept) == 3
    assert kept["broken", machine()] == before[0]
    assert kept["speed", "another"] == before[1]
    assert kept["speed", machine()]["headline"] == {"f": 1}
    of = {"name", "commit", "date", "machine", "seconds", "probe_s", "headline"}
    assert set(kept["speed", machine()]) == of


def child(code: str, limit_s: float = 300.0) -> EndedRun:
    """What came of a program."""
    return run_quick([sys.executable, "-c", code], limit_s)


def test_the_last_line_of_a_child_is_its_headline() -> None:
    found = child("print('a table'); print('{\"s\": 1}')")
    assert found.headline == {"s": 1}
    assert found.probe_s > 0


def test_a_child_that_fails_is_told_with_its_last_words() -> None:
    found = child("raise SystemExit('no engine')")
    assert found.headline is None
    assert found.why == "ended with status 1\nno engine"
    assert not found.is_skipped
    assert child("print('{}'); raise SystemExit(3)").why.startswith("ended with status 3")
    assert child("print('a table')").why == "its last line is no JSON\na table"


@pytest.mark.long
def test_a_child_that_lacks_something_is_skipped_in_its_words() -> None:
    found = child("import sys; sys.stderr.write('skipped: no data tables\\n')")
    assert found.is_skipped
    assert found.why == "skipped: no data tables"


def test_a_child_may_take_so_long_and_no_longer() -> None:
    assert child("import time; time.sleep(900)", limit_s=0.5).why.startswith("took longer than 0.5 s")


def test_a_child_is_ended_with_what_it_started() -> None:
    deaf = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    sleeper = f"import signal, time; {deaf}; print(flush=True); time.sleep(900)"
    code = (
        "import subprocess, sys\n"
        f"started = subprocess.Popen([sys.executable, '-c', {sleeper!r}], stdout=subprocess.PIPE)\n"
        "started.stdout.readline()\n"
        "print(started.pid, flush=True)\n"
        "started.wait()"
    )
    process = start([sys.executable, "-c", code], subprocess.PIPE, subprocess.DEVNULL)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    end(process)
    process.stdout.close()
    assert process.returncode == -signal.SIGINT
    wait_until(lambda: pid not in running())


def running() -> set[int]:
    """The processes that are not dead."""
    found = psutil.process_iter(["pid", "status"])
    return {each.info["pid"] for each in found if each.info["status"] != psutil.STATUS_ZOMBIE}


def test_what_a_benchmark_needs_is_a_file_or_a_program() -> None:
    assert lacking({"README.md": "-", sys.executable: "-", "sh": "-"}) == ""
    found = lacking({"README.md": "-", "build/no_such": "make such", "no-such-program": "Debian's such"})
    assert found == "skipped: needs build/no_such (make such), no-such-program (Debian's such)"
