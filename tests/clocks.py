"""Clocks of a test: a wall clock that somebody sets, and clocks that tell what the test says."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

import pytest

DAY_S = 86_400.0


def jump(monkeypatch: pytest.MonkeyPatch, offsets_s: Sequence[float]) -> None:
    """From now on the wall clock is wrong by the next of these offsets each time that it is looked at."""
    right, wrong_by = time.time, itertools.cycle(offsets_s)
    monkeypatch.setattr(time, "time", lambda: right() + next(wrong_by))


def read_here(monkeypatch: pytest.MonkeyPatch, tells_s: Callable[[], float], *clocks: str) -> None:
    """These clocks of `time` tell this to the thread of the test, and the right time to all others.

    An event loop that other tests share would not wake up before a timer that was set by a wrong clock.
    """
    here = threading.get_ident()

    def replaced(right: Callable[[], float]) -> Callable[[], float]:
        return lambda: tells_s() if threading.get_ident() == here else right()

    for name in clocks:
        monkeypatch.setattr(time, name, replaced(getattr(time, name)))
