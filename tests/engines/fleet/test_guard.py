"""The guard of a command: it ends with its owner, however that went, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from relserve.engines.fleet.guard import descendants
from tests.waiting import is_gone, wait_until

# A child with a child in a session of its own, which ignores what can be ignored and outlives its parent.
STUBBORN = """
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(os.getpid(), flush=True)
time.sleep(1000)
"""
# An owner that starts the guard and then sleeps.
OWNER = """
import os, subprocess, sys, time
command = [sys.executable, "-m", "relserve.engines.fleet.guard", str(os.getpid()), sys.argv[1], *sys.argv[2:]]
guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
print(guard.pid, flush=True)
time.sleep(1000)
"""


def guarded(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    made = [sys.executable, "-m", "relserve.engines.fleet.guard", str(os.getpid()), str(folder), *command]
    return subprocess.Popen(made, stdin=subprocess.PIPE, start_new_session=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "below").mkdir(parents=True)
    return made


@pytest.mark.cells(1)
@pytest.mark.parametrize("how", ["close", "SIGTERM"])
def test_all_that_came_of_the_command_ends(folder: Path, how: str) -> None:
    guard = guarded(folder, sys.executable, "-c", STUBBORN)
    wait_until(lambda: len(descendants(guard.pid)) == 2)
    pids = descendants(guard.pid)
    os.kill(pids[0], signal.SIGKILL)  # its child is an orphan now, and the command has ended
    wait_until(lambda: guard.poll() is not None)
    assert all(map(is_gone, pids))
    assert not folder.exists()

    folder.mkdir()
    guard = guarded(folder, sys.executable, "-c", STUBBORN)
    wait_until(lambda: len(descendants(guard.pid)) == 2)
    pids = descendants(guard.pid)
    assert guard.stdin is not None
    guard.stdin.close() if how == "close" else guard.terminate()
    wait_until(lambda: guard.poll() is not None)
    assert all(map(is_gone, pids))
    assert not folder.exists()


def test_an_owner_that_is_killed_leaves_nothing(folder: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    guard = int(owner.stdout.readline())
    wait_until(lambda: len(descendants(guard)) == 2)
    pids = [guard, *descendants(guard)]
    owner.kill()
    owner.wait()
    wait_until(lambda: all(map(is_gone, pids)))
    wait_until(lambda: not folder.exists())
    owner.stdout.close()


@pytest.mark.long
def test_what_the_command_said_is_kept_while_it_runs(folder: Path) -> None:
    guard = guarded(folder, sys.executable, "-c", STUBBORN)
    log = folder / "start.log"
    wait_until(lambda: log.exists() and log.read_text().strip().isdigit())
    assert guard.stdin is not None
    guard.stdin.close()
    wait_until(lambda: guard.poll() is not None)
