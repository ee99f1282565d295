"""Work that Ctrl-C cancels: it runs on a thread of its own, so that the signal is seen whatever it does."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Result = TypeVar("Result")

AGAIN_S = 0.1  # between interrupts, for one may come before there is anything to interrupt
PATIENCE_S = 3.0  # without an end after the first Ctrl-C, until the way out is told
PRESSES = 3  # of Ctrl-C, after which what cannot be cancelled is left
STUCK = f"\nstill at work; Ctrl-C {PRESSES} times leaves at once"


def run_cancellable(work: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """The result of `work`; Ctrl-C calls `interrupt` until the work ends. For the main thread.

    Where that is of no use, as while DuckDB waits for a server, Ctrl-C `PRESSES` times ends the process.

    Raises:
        Exception: what `work` raises, after an interrupt too.
    """
    future: Future[Result] = Future()
    pressed_s: list[float] = []
    former = signal.signal(signal.SIGINT, lambda *_: pressed_s.append(time.monotonic()))
    try:
        threading.Thread(target=_settle, args=(future, work), daemon=True, name="relserve shell").start()
        is_told = False
        while not wait([future], AGAIN_S).done:
            if len(pressed_s) >= PRESSES:
                os._exit(130)  # an orderly end would wait for the work
            if pressed_s:
                interrupt()
            if pressed_s and not is_told and time.monotonic() - pressed_s[0] > PATIENCE_S:
                is_told = True
                sys.stderr.write(STUCK + "\n")
    finally:
        signal.signal(signal.SIGINT, former)
    return future.result()


def _settle(future: Future[Result], work: Callable[[], Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
