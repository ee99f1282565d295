"""Calling DuckDB as if from the user's own frame, where it looks for DataFrames by variable name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pyarrow as pa

from relserve_duckdb.udf.client import call_among
from relserve_duckdb.user.relation import Relation, unwrapped


class FrameVariables:
    """The variables of a user's frame, in which `SELECT .. FROM my_dataframe` finds my_dataframe."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """function(*args, **kwargs), with these variables in its caller's frame."""
        space = {
            name: unwrapped(value) if type(value) is Relation else value  # DuckDB could not scan the proxy
            for name, value in self._frame.f_locals.items()
        }
        return call_among(self._frame.f_globals, space, partial(function, *args, **kwargs))

    def one_shot(self) -> list[str]:
        """Names of variables that can be read only once, such as a RecordBatchReader."""
        both = {**self._frame.f_globals, **self._frame.f_locals}
        return [name for name, value in both.items() if is_one_shot(value)]


def is_one_shot(value: Any) -> bool:
    """Whether scanning the value uses it up."""
    return isinstance(value, pa.RecordBatchReader) or type(value).__name__ in ("Scanner", "PyCapsule")
