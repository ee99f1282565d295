"""Runs a command for an owner, and ends it with all that came of it when the owner is gone, however it went.

`python -m relserve.engines.fleet.guard OWNER FOLDER COMMAND..`: the owner holds the other end of our standard
input. Of Ray's own processes two end a minute after an owner that was killed, and none removes its files.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from relserve.machine.private_files import open_private

POLL_S = 0.5
GRACE_S = 1.0  # for the command to end by itself
KILL_S = 5.0  # longest time in which descendants are looked for
PR_SET_CHILD_SUBREAPER = 36


def run(owner: int, folder: Path, command: Sequence[str]) -> None:
    """Run the command until it or the owner has ended; then kill what is left of it, and the folder."""
    _adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    log = folder / "start.log"
    try:
        with open_private(log, "w") as file:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        while child.poll() is None and os.getppid() == owner and not _has_let_go():
            pass
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
    finally:
        kill_all(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)


def _has_let_go() -> bool:
    """Whether the owner closed its end, or ended; waits for it a moment."""
    ready, _, _ = select.select([sys.stdin], [], [], POLL_S)
    return bool(ready)


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


def _adopt_orphans() -> None:
    """Have processes whose parents end become children of this one, so that none is lost sight of (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_all(root: int) -> None:
    """Kill all descendants of a process, those that start meanwhile too."""
    deadline_s = time.monotonic() + KILL_S
    while (found := descendants(root)) and time.monotonic() < deadline_s:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def descendants(root: int) -> list[int]:
    """The running processes that came of one, it excluded; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, parents = list[int](), [root]
    while parents:
        below = children.get(parents.pop(), [])
        found += below
        parents += below
    return found


if __name__ == "__main__":
    run(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
