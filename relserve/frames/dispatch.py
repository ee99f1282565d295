"""From what a user gave to what answers it, without importing a library that the user does not use."""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from typing import Any

import duckdb
import pyarrow as pa
from relserve_duckdb.user.relation import Relation
from relserve_duckdb.user.variables import is_one_shot

from relserve.errors import UsageError
from relserve.frames import relations
from relserve.frames.arrow_frames import ArrowFrame
from relserve.frames.call import Answered, Call, Source, warn


def answer(call: Call, cancel: threading.Event | None = None) -> Answered:
    """The column of answers, or for a lazy frame or a relation the same with a column of answers.

    Raises:
        UsageError: the data is of no known kind, or the template does not fit it.
        EngineError, RowError, Cancelled: see `Session.run`.
    """
    data = call.data
    if isinstance(data, Relation):
        return Answered(relations.add_in_sql(data, call), [])
    if isinstance(data, duckdb.DuckDBPyRelation):
        return relations.add_at_once(data, call, cancel)
    if _is_of("polars", ("LazyFrame",), data):
        return Answered(_lazily(call, cancel), [])
    return call.ask(source_of(data, call.function), cancel)


def source_of(data: Any, function: str) -> Source:
    """What gives the columns of data that is here as a whole.

    Args:
        function: whose data it is, for messages.

    Raises:
        UsageError: the data is of no known kind.
    """
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        data = (pa.table if isinstance(data, pa.ChunkedArray) else pa.record_batch)([data], ["value"])
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return ArrowFrame(data)
    if _is_of("pandas", ("DataFrame", "Series"), data):
        made: Source = import_module("relserve.frames.pandas_frames").PandasFrame(data)
        return made
    if _is_of("polars", ("DataFrame", "Series"), data):
        made = import_module("relserve.frames.polars_frames").PolarsFrame(data)
        return made
    if hasattr(data, "__arrow_c_stream__") and not is_one_shot(data):
        return ArrowFrame(pa.table(data))
    hint = "; read it into a table first" if is_one_shot(data) else ""
    raise UsageError(
        f"relserve.{function}() takes a pandas or polars frame or series, a pyarrow table or array, or a "
        f"DuckDB relation, not {type(data).__name__}{hint}"
    )


def _lazily(call: Call, cancel: threading.Event | None) -> Any:
    polars_frames = import_module("relserve.frames.polars_frames")
    call.picked(call.data.collect_schema().names())  # a mistake is told now, not when it is collected

    def ask(frame: Any) -> Any:
        column, told = call.ask(polars_frames.PolarsFrame(frame), cancel)
        warn(told, stacklevel=2)
        return column

    return polars_frames.add_lazily(call.data, call.name, call.kind, ask)


def _is_of(library: str, classes: tuple[str, ...], data: Any) -> bool:
    """Whether the data is of one of a library's classes; who has such data has imported the library."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, tuple(getattr(module, name) for name in classes))
