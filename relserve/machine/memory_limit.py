"""How much memory a process may hold: beyond it an allocation fails, and the process lives on.

Without one a single SQL text, as one with repeat(), can want more than the machine has, none of which DuckDB
counts; the kernel then ends the process, and with it everybody's work.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relserve.machine.capacity import free_bytes

if sys.platform == "linux":
    import resource

SHARE = 0.75  # of the memory that is free when the limit is set
VARIABLE = "RELSERVE_FORMER_MEMORY_LIMIT"  # what the process had been given, for its children
_STATM = Path("/proc/self/statm")  # pages; the sixth number is of what the limit counts


def limit_memory() -> None:
    """Let this process hold no more than SHARE of the memory that is free now; only Linux can."""
    free = free_bytes()
    if sys.platform == "linux" and free is not None:
        _lower(int(free * SHARE))


def lift_memory_limit() -> None:
    """Free this process of what its parent took upon itself: an engine's memory is not the parent's."""
    former = os.environ.pop(VARIABLE, None)
    if sys.platform == "linux" and former is not None:
        _set(int(former))


class _Brake:
    """A limit for as long as anybody needs one."""

    def __init__(self) -> None:
        self._count, self._changing = 0, threading.Lock()
        self._former: int | None = None
        self._told: str | None = None

    def enter(self, limit: int) -> None:
        with self._changing:
            self._count += 1
            if self._count == 1:
                self._told = os.environ.get(VARIABLE)
                self._former = _lower(limit)

    def leave(self) -> None:
        with self._changing:
            self._count -= 1
            if self._count == 0 and self._former is not None:
                _set(self._former)
                if self._told is None:
                    del os.environ[VARIABLE]


_BRAKE = _Brake()


@contextmanager
def limited_memory() -> Iterator[None]:
    """Let this process take no more than SHARE of the memory that is free now, while anybody is inside.

    The limit holds for all of the process, so it is as wide as keeps the process alive. Only Linux can.
    """
    free = free_bytes()
    if sys.platform != "linux" or free is None:
        yield
        return
    in_use = int(_STATM.read_text(encoding="ascii").split()[5]) * os.sysconf("SC_PAGE_SIZE")
    _BRAKE.enter(in_use + int(free * SHARE))
    try:
        yield
    finally:
        _BRAKE.leave()


def _lower(limit: int) -> int | None:
    """Set a limit where there is none as low, and tell children the one before it.

    Returns:
        The one before it; None where nothing was changed.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if soft != resource.RLIM_INFINITY and limit >= soft:
        return None
    _set(limit)
    os.environ.setdefault(VARIABLE, str(soft))
    return soft


def _set(limit: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
