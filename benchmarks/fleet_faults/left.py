"""Which processes came of one, and which of them are left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from relserve.engines.fleet.guard import descendants
from relserve.machine.engine_status import is_alive, started_at

TRACKER = b"resource_tracker"  # Python's own, which ends with the process that spawned others

Process = tuple[int, int | None]  # its pid, and when it was started


def came_of(pid: int, itself: bool = False) -> set[Process]:
    """The processes that came of one."""
    pids = [*descendants(pid), *([pid] if itself else [])]
    return {(each, started_at(each)) for each in pids if itself or not _is_tracker(each)}


def left(processes: Iterable[Process], within_s: float = 8.0) -> int:
    """How many of them still run after so long."""
    deadline_s = time.monotonic() + within_s
    while (found := _running(processes)) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return len(found)


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Begin it now, beside what else there is to do."""
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(work)
    pool.shutdown(wait=False)
    return begun


def _running(processes: Iterable[Process]) -> list[Process]:
    return [each for each in processes if each[1] is not None and is_alive(*each)]


def _is_tracker(pid: int) -> bool:
    try:
        return TRACKER in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
