"""Answers that come as JSON become columns of their types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from relserve.frames.call import typed
from relserve.frames.pandas_frames import PandasFrame


@pytest.mark.parametrize(
    ("schema", "texts", "values"),
    [
        ('"BIGINT"', ["5", None, "null"], [5, None, None]),
        ('"DATE"', ['"2024-02-29"', None], [dt.date(2024, 2, 29), None]),
        ('"BOOLEAN"', ["true", None], [True, None]),
        (
            '{"it\'s": "VARCHAR", "price": "DECIMAL(10,2)"}',
            ['{"it\'s": "é", "price": 1.5}', None, '{"it\'s": null, "price": null}'],
            [{"it's": "é", "price": Decimal("1.50")}, None, {"it's": None, "price": None}],
        ),
        ('["INTEGER"]', ["[1, null]", "[]", None], [[1, None], [], None]),
        ('"BIGINT"', [], []),
    ],
)
def test_json_becomes_a_column_of_its_type(schema: str, texts: list[str], values: list[object]) -> None:
    assert typed(pa.array(texts, pa.string()), schema).to_pylist() == values


def test_structs_in_pandas_hold_their_values_as_they_are() -> None:
    found = typed(pa.array(['{"x": 1}', None]), '{"x": "INTEGER"}')
    series = PandasFrame(pd.DataFrame({"v": [1, 2]}, index=[7, 7])).wrap(found, "found")
    assert [type(value) for value in series] == [dict, type(None)]
    assert repr(series[7].iloc[0]) == "{'x': 1}"
    assert (series.name, list(series.index)) == ("found", [7, 7])


def test_maps_in_pandas_are_dicts_as_in_duckdb() -> None:
    found = typed(pa.array(['{"b": 0.25, "a": 0.75}', None]), '"MAP(VARCHAR, DOUBLE)"')
    series = PandasFrame(pd.DataFrame({"v": [1, 2]})).wrap(found, "found")
    assert list(series) == [{"b": 0.25, "a": 0.75}, None]


def test_order_is_kept_over_many_rows() -> None:
    texts = pa.array([None if i % 7 == 0 else str(i) for i in range(200_000)])
    assert typed(texts, '"BIGINT"').to_pylist() == [None if i % 7 == 0 else i for i in range(200_000)]


@pytest.mark.parametrize(
    ("kind", "dtype"), [(pa.int64(), "Int64"), (pa.uint8(), "UInt8"), (pa.bool_(), "boolean")]
)
def test_pandas_columns_that_can_hold_null(kind: pa.DataType, dtype: str) -> None:
    series = PandasFrame(pd.DataFrame({"v": [1, 2]})).wrap(pa.array([1, None], pa.int64()).cast(kind), "x")
    assert str(series.dtype) == dtype
    assert series.isna().tolist() == [False, True]
