"""Work that Ctrl-C cancels: it runs on a thread of its own, so that the signal is seen whatever it does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Result = TypeVar("Result")

AGAIN_S = 0.1  # between interrupts, for one may come before there is anything to interrupt


def run_cancellable(work: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """The result of `work`; Ctrl-C calls `interrupt` until the work ends. For the main thread.

    Raises:
        Exception: what `work` raises, after an interrupt too.
    """
    future: Future[Result] = Future()
    came = threading.Event()
    former = signal.signal(signal.SIGINT, lambda *_: came.set())
    try:
        threading.Thread(target=_settle, args=(future, work), daemon=True, name="relserve shell").start()
        while not wait([future], AGAIN_S).done:
            if came.is_set():
                interrupt()
    finally:
        signal.signal(signal.SIGINT, former)
    return future.result()


def _settle(future: Future[Result], work: Callable[[], Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
