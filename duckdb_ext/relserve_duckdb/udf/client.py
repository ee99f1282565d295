"""What belongs to whoever runs the statements: a Python program or a server's client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import FrameType
from typing import Any, Protocol

from relserve.session.history import History
from relserve.session.progress import Progress

_NAME = "__relserve_call"
_CALL = compile(f"{_NAME}()", "<relserve>", "eval")


class Variables(Protocol):
    """Where DuckDB finds the DataFrames that a text names."""

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """function(*args, **kwargs), with these variables in sight."""

    def one_shot(self) -> list[str]:
        """Names of variables that can be read only once, such as a RecordBatchReader."""


class NoVariables:
    """Of a caller without a Python frame, such as a client of a server: a text can name none."""

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """function(*args, **kwargs), with no variable in its caller's frame."""
        return call_among({}, {}, partial(function, *args, **kwargs))

    def one_shot(self) -> list[str]:
        """None."""
        return []


def call_among(shared: dict[str, Any], own: dict[str, Any], function: Callable[[], Any]) -> Any:
    """Call a partial, which adds no Python frame, from a frame with these global and local variables."""
    own[_NAME] = function
    return eval(_CALL, shared, own)


class Teller(Protocol):
    """Tells whoever waits for a statement how far it is, and what failed."""

    def progress(self) -> AbstractContextManager[Progress | None]:
        """What shows how far one relQuery is; None: nobody looks."""

    def warn_of_failures(self, history: History, statement: int) -> bool:
        """Tell that rows of a statement failed, or all got one answer; whether any failed."""


class Client(Teller, Protocol):
    """Brings the variables, too, watches for interrupts and gets the warnings."""

    def variables(self, frame: FrameType) -> Variables:
        """The variables that a text may name when it is run from this frame."""

    def watching(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        """While inside, call `interrupt` when the caller wants the statement to stop."""

    def warn_of_constant(self, function: str) -> None:
        """Tell that a call has no column, so that every row gets the same answer."""
