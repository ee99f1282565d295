"""Servers in threads, which end while the next tests run: uvicorn takes 0.2 s for it, most of them asleep."""

from __future__ import annotations

import threading

from tests.waiting import PATIENCE_S

_ending: list[threading.Thread] = []


def ends_soon(thread: threading.Thread) -> None:
    """A thread that was told to end is looked at when the run ends."""
    _ending[:] = [each for each in _ending if each.is_alive()]
    _ending.append(thread)


def check_all_ended() -> None:
    """Every such thread ends."""
    for thread in _ending:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), f"{thread} did not end"
