"""Calling DuckDB as if from the user's own frame, where it looks for DataFrames by variable name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pyarrow as pa

_NAME = "__relserve_call"
_CALL = compile(f"{_NAME}()", "<relserve>", "eval")


class Variables:
    """The variables of a user's frame, in which `SELECT .. FROM my_dataframe` finds my_dataframe."""

    def __init__(self, frame: FrameType) -> None:
        self._globals = frame.f_globals
        self._locals = {
            name: getattr(value, "__relserve_raw__", value) for name, value in frame.f_locals.items()
        }

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """function(*args, **kwargs), with these variables in its caller's frame.

        A partial adds no Python frame, so the function's caller is the frame of the evaluated text.
        """
        space = {**self._locals, _NAME: partial(function, *args, **kwargs)}
        return eval(_CALL, self._globals, space)

    def one_shot(self) -> list[str]:
        """Names of variables that can be read only once, such as a RecordBatchReader."""
        both = {**self._globals, **self._locals}
        return [name for name, value in both.items() if is_one_shot(value)]


def is_one_shot(value: Any) -> bool:
    """Whether scanning the value uses it up."""
    return isinstance(value, pa.RecordBatchReader) or type(value).__name__ == "Scanner"
