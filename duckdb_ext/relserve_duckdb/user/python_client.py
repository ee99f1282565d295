"""The client that is a Python program: frames, Ctrl-C on the main thread, a progress bar, Python warnings."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import FrameType

from relserve.session.history import History
from relserve.session.notices import warn, warn_of_constant
from relserve.session.progress import Progress, bar
from relserve_duckdb.user.variables import FrameVariables


@dataclass(frozen=True)
class PythonClient:
    """A `Client`.

    Attributes:
        shows_progress: a bar a relQuery on stderr; None: when a person looks.
    """

    shows_progress: bool | None = None

    def variables(self, frame: FrameType) -> FrameVariables:
        return FrameVariables(frame)

    def watching(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        return _on_ctrl_c(interrupt)

    def progress(self) -> AbstractContextManager[Progress | None]:
        return bar(self.shows_progress)

    def warn_of_failures(self, history: History, statement: int) -> bool:
        return warn(history, statement)

    def warn_of_constant(self, function: str) -> None:
        warn_of_constant(function)


@contextmanager
def _on_ctrl_c(interrupt: Callable[[], None]) -> Iterator[None]:
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
