"""Ctrl-C: from the signal to the interrupt of the running statement, and on to the former handler."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_ctrl_c(interrupt: Callable[[], None]) -> Iterator[None]:
    """While inside, SIGINT calls `interrupt`; on the way out the former handler gets its signal.

    Python runs handlers on the main thread only, so elsewhere there is nothing to do. Without this the
    KeyboardInterrupt would arise inside a UDF while other threads go on waiting for the engine.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield
        return
    came: list[FrameType | None] = []

    def cancel(number: int, frame: FrameType | None) -> None:
        came.append(frame)
        interrupt()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        if came:
            former(signal.SIGINT, came[0])
