"""A client of cursors that has no Python frame, as a server's has none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from relserve_duckdb import NoVariables

from relserve.session.history import History
from relserve.session.progress import Progress


class Guest:
    """A client without a Python frame."""

    def __init__(self) -> None:
        self.warned = 0

    def variables(self, frame: FrameType) -> NoVariables:
        return NoVariables()

    def watching(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def progress(self) -> AbstractContextManager[Progress | None]:
        return nullcontext()

    def warn_of_failures(self, history: History, statement: int) -> bool:
        return False

    def warn_of_constant(self, function: str) -> None:
        self.warned += 1
