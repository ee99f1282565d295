"""The client that is a Python program: frames, Ctrl-C on the main thread, a progress bar, Python warnings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType

from relserve.session.history import History
from relserve.session.notices import warn, warn_of_constant
from relserve.session.progress import Progress, bar
from relserve_duckdb.user.interrupts import on_ctrl_c
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
        return on_ctrl_c(interrupt)

    def progress(self) -> AbstractContextManager[Progress | None]:
        return bar(self.shows_progress)

    def warn_of_failures(self, history: History, statement: int) -> bool:
        return warn(history, statement)

    def warn_of_constant(self, function: str) -> None:
        warn_of_constant(function)
