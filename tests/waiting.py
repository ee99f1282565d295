"""Waiting in tests: long enough that a busy machine fails none of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import psutil

PATIENCE_S = 60.0

T = TypeVar("T")
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


def with_time_enough(ask: Callable[[float], T], was_enough: Callable[[T], object]) -> T:
    """What somebody is told who has a second, or more where a busy machine needs it.

    Args:
        ask: asks with so many seconds to the deadline.
        was_enough: whether what must be in time was.
    """
    for seconds in (1.0, 10.0, PATIENCE_S / 2):
        told = ask(seconds)
        if was_enough(told):
            break
    return told


def act_when(condition: Callable[[], object], action: Callable[[], object]) -> threading.Thread:
    """Act in another thread once the condition holds; gives the thread."""

    def wait_and_act() -> None:
        wait_until(condition)
        action()

    thread = threading.Thread(target=wait_and_act, daemon=True)
    thread.start()
    return thread


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process does nothing inside, so that what it is asked is under way until then; it may be killed."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, though its parent may not have asked how."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
