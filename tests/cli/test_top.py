"""`relserve top`: reading what engines wrote, and how it looks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from rich.console import Console

from relserve.cli.plain_text import clock_text
from relserve.cli.top import NOBODY, draw
from relserve.machine.engine_status import (
    BudgetStatus,
    EngineStatus,
    RelStatus,
    StatusFile,
    is_alive,
    read_engines,
    started_at,
    state_dir,
    status_json,
)
from relserve.machine.fleet_status import FleetStatus, MemberStatus, read_fleets
from relserve.machine.gate_status import GateStatus, UserStatus, read_gates
from relserve.tiny import MODEL_DIR
from tests.command_line import relserve
from tests.waiting import PATIENCE_S, wait_until

RELS = [
    RelStatus("rel-7-1", 10_000, 120, 0, "core running", 12.345, 12.345, 3.0),
    RelStatus("evil\x1b[2J" + "x" * 60, 3, 1, 2, "tail running", None, None, 100.0),
]
COMMAND = [sys.executable, "-m", "relserve", "top"]


def status(pid: int, **changes: Any) -> EngineStatus:
    made = EngineStatus(
        pid, started_at(pid), str(MODEL_DIR), "dpu+marginal", time.time(), 5, 7, 0.25, 9, RELS
    )
    return replace(made, **changes)


def write(folder: Path, engine: EngineStatus) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"engine-{engine.pid}.json"
    path.write_text(status_json(engine))
    return path


def drawn(engines: list[EngineStatus], now_s: float | None = None) -> str:
    screen = Console(width=140, color_system=None)
    with screen.capture() as captured:
        screen.print(draw(engines, time.time() if now_s is None else now_s))
    return captured.get()


def test_numbers_of_numpys_are_read_as_what_they_are(tmp_path: Path) -> None:
    pid = os.getpid()
    write(tmp_path, status(pid, running=np.int64(5), kv_used=np.float32(0.25), rels=[]))
    assert read_engines(tmp_path) == [status(pid, rels=[], written_s=read_engines(tmp_path)[0].written_s)]


def test_step_budgets_are_told_of_where_there_are_limits() -> None:
    idle = BudgetStatus("ours", 0, None, None, None, None, None, None)
    assert "steps" not in drawn([status(7, budget=idle)])
    busy = BudgetStatus("ours", 150, 480, "slack", 0.02, 0.973, 0.1, 0.004)
    said = "steps by ours: 480 tokens in 20 ms (slack), 150 with limits, no step below 4 ms, R2 0.97"
    assert said in drawn([status(7, budget=busy)])
    assert "steps by ours, 3 with limits" in drawn([status(7, budget=replace(idle, limited=3))])


def test_hidden_rows_are_told_of_where_there_are_any() -> None:
    assert "hidden" not in drawn([status(7)])
    assert "KV cache 25% used, 3 hidden, 1,200 switched" in drawn([status(7, hidden=3, switched=1200)])


def ended_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_dead_engines_are_ignored_and_their_files_removed(tmp_path: Path) -> None:
    living, dead = write(tmp_path, status(os.getpid())), write(tmp_path, status(ended_pid()))
    leftover = tmp_path / f"engine-{ended_pid()}.json.tmp"
    other = tmp_path / "engine-notes.txt"
    for path in (leftover, other):
        path.write_text("half")
    assert [engine.pid for engine in read_engines(tmp_path)] == [os.getpid()]
    assert not dead.exists()
    assert not leftover.exists()
    assert living.exists()
    assert other.exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells when a process started")
def test_another_process_with_the_same_number_is_not_the_engine(tmp_path: Path) -> None:
    path = write(tmp_path, status(os.getpid(), started=1))
    assert read_engines(tmp_path) == []
    assert not path.exists()


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    wait_until(lambda: started_at(child.pid) is None)
    assert not is_alive(child.pid, None)
    child.wait()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 2, "pid": 1}', '{"format": 1, "rels": [1]}']
)
def test_files_that_are_no_status_are_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"engine-{os.getpid()}.json"
    path.write_text(text)
    assert read_engines(tmp_path) == []
    assert path.exists()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"format":1', '"format":2'),
        ('"waiting":', '"wating":'),
        ('"kv_used":0.25', '"kv_used":"much"'),
        ('"rows":10000', '"rows":null'),  # within a record of the list
        ('"age_s":3.0', '"age_s":3.0,"mood":"good"'),
        ('"dpu+marginal"', '"\udcff"'),
    ],
)
def test_a_status_with_one_thing_that_it_has_not_is_left_alone(
    tmp_path: Path, right: str, wrong: str
) -> None:
    path = write(tmp_path, status(os.getpid()))
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong), errors="surrogateescape")
    assert read_engines(tmp_path) == []
    path.write_text(text)
    assert len(read_engines(tmp_path)) == 1


def test_numbers_of_numpy_are_numbers_and_what_is_not_finite_is_not_known(tmp_path: Path) -> None:
    rels = [replace(RELS[0], priority=np.float64(2.5), left_s=float("inf"))]
    write(tmp_path, status(os.getpid(), kv_used=np.float64(0.5), rels=rels))
    [found] = read_engines(tmp_path)
    assert (found.kv_used, found.rels[0].priority, found.rels[0].left_s) == (0.5, 2.5, None)


def test_no_folder_is_no_engine(tmp_path: Path) -> None:
    assert read_engines(tmp_path / "none") == []


def test_it_shows_each_relquery_and_no_control_characters() -> None:
    text = drawn([status(os.getpid())])
    in_head = (f"engine {os.getpid()}", "tiny", "dpu+marginal", "9 relQueries", "25% used")
    in_rows = ("120/10,000", "core running", "12.35", "12 s", "1/3 (2 aborted)", "tail running", "1 min 40 s")
    for part in (*in_head, *in_rows, "and 7 more"):
        assert part in text
    assert "\x1b" not in text
    assert "no news" not in text


def test_it_says_when_an_engine_is_idle_or_silent() -> None:
    assert "idle" in drawn([status(os.getpid(), running=0, waiting=0, rels=[], num_rels=0)])
    assert "no news for 20 s" in drawn([status(os.getpid(), written_s=1000.0)], now_s=1020.0)


@pytest.mark.parametrize(("seconds", "text"), [
    (0.04, "0.0 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"),
    (7500, "2 h 05 min"),
])  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert clock_text(seconds) == text


def test_the_command_prints_once_for_pipes_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    assert relserve("top").stdout.decode().strip() == NOBODY
    write(state_dir(), status(os.getpid()))
    (engine,) = json.loads(relserve("top", "--once", "--json").stdout)["engines"]
    assert engine["rels"][0]["rel_id"] == "rel-7-1"
    assert b"rel-7-1" in relserve("top", "--once").stdout


@pytest.mark.long
def test_ctrl_c_ends_it_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    child = subprocess.Popen(
        [*COMMAND, "--json", "--interval", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell's background jobs inherit SIG_IGN, and hand it on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stdout is not None
    for _ in range(3):
        assert json.loads(child.stdout.readline())["engines"] == []
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, errors) == (0, b"")


def test_deadlines_are_shown_where_there_are_any() -> None:
    assert "slack" not in drawn([status(7)])
    flow = RelStatus("rel-7-2", 1, 0, 0, "waiting", 1.0, 2.0, 3.0, "wf-1", "revise", 65.0, 20.0, -4.0)
    late = replace(flow, rel_id="rel-7-3", deadline_s=-1.0, slack_s=-9.0, urgency_s=31.25)
    unknown = replace(flow, rel_id="rel-7-4", slack_s=None, urgency_s=None)
    now_s = time.time()
    lines = drawn([status(7, rels=[flow, late, unknown, RELS[0]], written_s=now_s - 5)], now_s).splitlines()
    assert "deadline" in lines[1]
    ends = [line.split("8.0 s")[-1].split() for line in lines[2:6]]
    assert ends == [["1", "min", "00", "s", "15", "s", "1.0"], ["missed", "-14", "s", "36.2"],
                    ["1", "min", "00", "s"], []]  # fmt: skip


def test_who_waits_to_be_admitted_is_drawn_by_user(tmp_path: Path) -> None:
    file = StatusFile("gate", tmp_path)
    users = [UserStatus("ann", 10, 1420, 300, 2, 12.3), UserStatus("bob", 0, 0, 5, 0)]
    known = dict(places=80, reason="every place is taken", speed=20.0, error=0.1)
    file.write(GateStatus.here(model="tiny", policy="ours", users=users, **known))
    screen = Console(width=140, color_system=None)
    with screen.capture() as captured:
        screen.print(draw([status(7)], time.time(), read_gates(tmp_path)))
    text = captured.get()
    assert "ours  10 of 80 requests running, 1,420 waiting: every place is taken" in text
    assert "ann" in text
    assert "12 s" in text
    assert "bob" not in text


def test_members_of_fleets_are_shown_with_why_they_are_not_up(tmp_path: Path) -> None:
    up = MemberStatus("m0", "up", "", "here", True, False, 7, 1200, 1, 3, 0.0123, "ours", {"ours": 1207})
    why = "no\x1b[2J memory"
    dead = MemberStatus("m1", "dead", why, "http://h/v1", False, False, 0, 4, 2, None, None, "", {})
    known = dict(model="fleet:f.toml", policy="ours", queries=2, waiting=1500, members=[up, dead])
    StatusFile("fleet", tmp_path).write(FleetStatus.here(**known))
    [fleet] = read_fleets(tmp_path)
    assert fleet.members == [up, dead]
    screen = Console(width=160, color_system=None)
    with screen.capture() as captured:
        screen.print(draw([], time.time(), fleets=[fleet]))
    head, _, first, second = captured.get().splitlines()
    assert head.startswith(f"fleet {os.getpid()}  fleet:f.toml  ours  2 relQueries and requests under way, ")
    assert "1,500 rows wait" in head
    assert first.split() == ["m0", "here", "up,", "drained", "7", "1,200", "1", "3", "12", "ms", "ours"]
    assert "dead: no" in second
    assert "\x1b" not in second
