"""Clocks by which a trace is replayed: the wall's, and one that runs only while this process computes."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Protocol

LONGEST_SLEEP_S = 0.005


class Clock(Protocol):
    """Seconds since some moment, and a way to spend them idly."""

    def now(self) -> float: ...

    def wait(self, until_s: float) -> None:
        """Let the clock come nearer to a time, as nothing is to be done before."""
        ...


class WallClock:
    """Real time."""

    def now(self) -> float:
        return time.perf_counter()

    def wait(self, until_s: float) -> None:
        time.sleep(min(LONGEST_SLEEP_S, max(0.0, until_s - self.now())))


class BusyClock:
    """The processor time of this process, and the time that it waited, which is skipped.

    On a quiet machine an engine of one thread takes as long by this clock as by the wall's. What other
    programs take of the processor is not counted, and idle time costs no time.
    """

    def __init__(self) -> None:
        self._skipped_s = 0.0

    def now(self) -> float:
        return time.process_time() + self._skipped_s

    def wait(self, until_s: float) -> None:
        self._skipped_s += max(0.0, until_s - self.now())


CLOCKS = {"wall": WallClock, "busy": BusyClock}


def lead(package: str, clock: Clock) -> None:
    """Have the modules of a package that were imported so far read this clock.

    A scheduler's limits and deadlines then run by the time by which it is judged.
    """
    if isinstance(clock, WallClock):
        return
    led = dict.fromkeys(("monotonic", "perf_counter", "time"), clock.now)
    seconds = SimpleNamespace(**{**vars(time), **led})
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and getattr(module, "time", None) is time:
            module.time = seconds  # type: ignore[attr-defined]
