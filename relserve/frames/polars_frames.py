"""polars frames, lazy frames and series. Imported only when a user has given one."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pyarrow as pa

from relserve.call.template import text_of
from relserve.call.values import to_arrow
from relserve.errors import UsageError

_WIDE = ("Int128", "UInt128")  # whole numbers, for which Arrow has no type


class PolarsFrame:
    """A polars DataFrame or Series; answers are a Series."""

    def __init__(self, data: pl.DataFrame | pl.Series) -> None:
        self._columns = [data] if isinstance(data, pl.Series) else data.get_columns()
        self.names = [column.name or "value" for column in self._columns]
        self.num_rows = len(data)

    def column(self, i: int) -> pa.Array:
        series = self._columns[i]
        if series.dtype == pl.Object:  # in Arrow these would be addresses
            texts = [None if value is None else text_of(value) for value in series.to_list()]
            return to_arrow(texts, pa.string())
        if str(series.dtype) in _WIDE:
            series = series.cast(pl.String)
        try:
            return series.to_arrow()
        except pa.ArrowException as error:
            raise UsageError(f"Arrow cannot read values of {series.dtype}; cast them to pl.String") from error

    def wrap(self, answers: pa.Array, name: str) -> pl.Series:
        return _series(answers, name)


def add_lazily(
    frame: pl.LazyFrame, name: str, kind: pa.DataType, answer: Callable[[pl.DataFrame], pl.Series]
) -> pl.LazyFrame:
    """The lazy frame with a column of answers, asked when it is collected.

    Raises:
        UsageError: it has a column of this name.
    """
    schema = frame.collect_schema()
    if name in schema:
        raise UsageError(f"the frame has a column {name!r} already; give the answers another with name=")
    return frame.map_batches(
        lambda rows: rows.with_columns(answer(rows)),
        # some polars releases push down by default, which would prune the template's columns, or rows
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema={**schema, name: _series(pa.nulls(0, kind), name).dtype},
    )


def _series(array: pa.Array, name: str) -> pl.Series:
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series.alias(name)
