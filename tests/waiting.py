"""Waiting in tests: long enough that a busy machine fails none of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 60.0

Limit = Callable[..., float]  # of the fixture limit_s


def wait_until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Return once the condition holds.

    Raises:
        AssertionError: it does not hold within `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s in vain"
        time.sleep(0.01)


def act_when(condition: Callable[[], object], action: Callable[[], object]) -> threading.Thread:
    """Act in another thread once the condition holds; gives the thread."""

    def wait_and_act() -> None:
        wait_until(condition)
        action()

    thread = threading.Thread(target=wait_and_act, daemon=True)
    thread.start()
    return thread


def is_gone(pid: int) -> bool:
    """Whether a process has ended, though its parent may not have asked how."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
