"""pandas frames and series. Imported only when a user has given one."""

from __future__ import annotations

from datetime import timezone
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from relserve.call.template import text_of

# types that pandas could not hold beside a missing value
_NULLABLE = {pa.bool_(): pd.BooleanDtype()} | {
    getattr(pa, name)(): pd.api.types.pandas_dtype(name.capitalize().replace("Ui", "UI"))
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


class PandasFrame:
    """A pandas DataFrame or Series; answers are a Series with its index."""

    def __init__(self, data: pd.DataFrame | pd.Series) -> None:
        self._data = data
        series = isinstance(data, pd.Series)
        self.names = ["value" if data.name is None else data.name] if series else list(data.columns)
        self.num_rows = len(data)

    def column(self, i: int) -> pa.Array | pa.ChunkedArray:
        data = self._data
        return arrow_of(data if isinstance(data, pd.Series) else data.iloc[:, i])

    def wrap(self, answers: pa.Array, name: str) -> Any:
        if kinds.is_nested(answers.type):  # to_pandas would make floats of whole numbers beside a NULL
            values = answers.to_pylist(maps_as_pydicts="strict")  # as DuckDB gives maps to Python
            return pd.Series(values, self._data.index, object, name)
        series = answers.to_pandas(types_mapper=_NULLABLE.get)
        series.index, series.name = self._data.index, name
        return series


def arrow_of(series: pd.Series) -> pa.Array | pa.ChunkedArray:
    """A series in Arrow, without a copy where its type allows; NULL for all that pandas takes as missing.

    What Arrow has no type for (periods, intervals, complex numbers, third-party types) is its text.
    """
    kind = series.dtype
    if kind == np.dtype(object):
        return _objects(series)
    if isinstance(kind, pd.CategoricalDtype):
        codes = np.asarray(series.cat.codes)
        categories = arrow_of(series.cat.categories.to_series())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _one(categories))
    if isinstance(kind, pd.SparseDtype):
        return arrow_of(series.sparse.to_dense())
    if isinstance(kind, (pd.PeriodDtype, pd.IntervalDtype)):
        return _texts(series)
    if kind.kind == "m" and not isinstance(kind, pd.ArrowDtype):
        return _typed_by_duckdb(series)  # its days and hours would read otherwise from Arrow
    if isinstance(kind, pd.DatetimeTZDtype) and (offset := kind.tz.utcoffset(None)) is not None:
        series = series.dt.tz_convert(timezone(offset))  # of dateutil's, Arrow would keep the name alone
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return _texts(series)
    if isinstance(array.type, pa.BaseExtensionType):
        return array if isinstance(kind, pd.ArrowDtype) else _texts(series)
    return _without_nan(array)


def _without_nan(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """NaN is missing in pandas, also where the type has an NA beside it."""
    if not kinds.is_floating(array.type) or not pc.any(nan := pc.is_nan(array)).as_py():
        return array
    return pc.if_else(nan, pa.scalar(None, array.type), array)


def _objects(series: pd.Series) -> pa.Array | pa.ChunkedArray:
    """Python objects: text as it is, all else typed by DuckDB, as it would in SQL over the frame."""
    values = series.to_numpy(dtype=object, copy=True)
    values[np.asarray(pd.isna(series))] = None
    try:
        array = pa.array(values, from_pandas=True)
        if kinds.is_string(array.type) or kinds.is_null(array.type):
            return array
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # of several types, or of one that Arrow does not know
    try:
        return _typed_by_duckdb(pd.Series(values, dtype=object))
    except duckdb.Error:
        return _texts(series)


def _typed_by_duckdb(series: pd.Series) -> pa.ChunkedArray:
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute(f"SET pandas_analyze_sample = {max(len(series), 1)}")  # else it judges by some rows alone
        con.register("objects", pd.DataFrame({"v": series.array}))
        return con.sql("SELECT v FROM objects").to_arrow_table().column(0)


def _texts(series: pd.Series) -> pa.Array:
    missing = np.asarray(pd.isna(series))
    texts = [None if gone else text_of(value) for value, gone in zip(series, missing, strict=True)]
    return pa.array(texts, pa.string())


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
