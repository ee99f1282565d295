"""A value of any dataframe type reads in the prompt as in SQL over the same frame."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frames_fixtures import connected, echoing, in_sql, listed

import relserve
from relserve.errors import UsageError

WHEN = dt.datetime(2024, 2, 29, 12, 30, 0, 500000)
UTC = dt.timezone.utc


@pytest.fixture(scope="module")
def con() -> Iterator[relserve.Connection]:
    """One for all values."""
    with connected() as con:
        yield con


PANDAS: dict[str, Any] = {
    "int": [1, 2, 1],
    "int8": np.array([1, -2, 1], "int8"),
    "uint64": np.array([2**64 - 1, 0, 0], "uint64"),
    "float": [1.0, 0.1, -0.0, 0.0, 1e22, 1e-7, np.inf, np.nan],
    "float32": np.array([0.1, 16777216, np.nan], "float32"),
    "bool": [True, False],
    "Int64": pd.array([1, None, 3], "Int64"),
    "Float64": pd.array([1.5, None], "Float64"),
    "boolean": pd.array([True, None], "boolean"),
    "str": ["a", None, "a", "é"],
    "string": pd.array(["a", pd.NA], "string"),
    "python string": pd.array(["a", pd.NA], pd.StringDtype("python")),
    "object text": pd.Series(["a", None, np.nan, pd.NA, "b"], dtype=object),
    "nothing": pd.Series([None, None], dtype=object),
    "category": pd.Categorical(["a", "b", None, "a"], categories=["b", "a", "unused"]),
    "category of numbers": pd.Categorical([1, 2, 1]),
    "category of times": pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"])),
    "datetime": pd.to_datetime(["2024-02-29 12:30:00.5", None, "1999-01-01 00:00:00.0"]),
    "datetime seconds": pd.to_datetime(["2024-02-29 12:30:00", None]).astype("datetime64[s]"),
    "datetime nanoseconds": pd.to_datetime(["2024-02-29 12:30:00.123456789"]).astype("datetime64[ns]"),
    "datetime UTC": pd.to_datetime(["2024-02-29 12:30:00", None], utc=True),
    "timedelta": pd.to_timedelta(["1 days 02:03:04.5", None]),
    "Arrow date": pd.array([dt.date(2024, 2, 29), None], pd.ArrowDtype(pa.date32())),
    "Arrow list": pd.array([["a", None], None], pd.ArrowDtype(pa.list_(pa.string()))),
    "Arrow decimal": pd.array([Decimal("1.50"), None], pd.ArrowDtype(pa.decimal128(9, 2))),
    "dates": pd.Series([dt.date(2024, 2, 29), None], dtype=object),
    "times": pd.Series([dt.time(12, 30, 1), None], dtype=object),
    "datetimes": pd.Series([WHEN, None], dtype=object),
    "decimals": pd.Series([Decimal("1.50"), Decimal("20.125"), None], dtype=object),
    "uuids": pd.Series([uuid.UUID(int=7), None], dtype=object),
    "bytes": pd.Series([b"plain", b"caf\xc3\xa9", b"\xff", None], dtype=object),
    "lists": pd.Series([["a", "b"], [], None], dtype=object),
    "lists of numbers": pd.Series([[1, 2], [3], None], dtype=object),
    "dicts": pd.Series([{"a": 1, "b": "é"}, {"a": 2, "b": None}, None], dtype=object),
    "dicts that differ": pd.Series([{"a": 1}, {"b": 2}], dtype=object),
    "mixed": pd.Series([1, "a", 2.5, True, None], dtype=object),
    "mixed late": pd.Series([*range(3000), "end"], dtype=object),
    "objects that are bools": pd.Series([True, None, False], dtype=object),
    "objects that are ints": pd.Series([1, None, 2], dtype=object),
}


@pytest.mark.cells(6)
@pytest.mark.parametrize("kind", PANDAS)
def test_pandas_values_read_as_in_sql(con: relserve.Connection, kind: str) -> None:
    frame = pd.DataFrame({"v": PANDAS[kind]})
    column = relserve.llm(frame, "<{v}>", engine=echoing())
    assert listed(column) == in_sql(con, frame, "llm('<{}>', v)")
    assert list(column.index) == list(frame.index)


POLARS: dict[str, pl.Series] = {
    "text": pl.Series(["a", None, "é", "a"]),
    "int": pl.Series([1, None, 3], dtype=pl.Int16),
    "float": pl.Series([1.0, None, float("inf"), float("nan"), -0.0, 0.0]),
    "float32": pl.Series([0.1, None], dtype=pl.Float32),
    "bool": pl.Series([True, None]),
    "categorical": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
    "enum": pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])),
    "date": pl.Series([dt.date(2024, 2, 29), None]),
    "time": pl.Series([dt.time(12, 30, 1), None]),
    "datetime": pl.Series([WHEN, None]),
    "datetime nanoseconds": pl.Series([WHEN, None], dtype=pl.Datetime("ns")),
    "datetime UTC": pl.Series([WHEN, None]).dt.replace_time_zone("UTC"),
    "duration": pl.Series([dt.timedelta(days=1, seconds=5), None]),
    "decimal": pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(9, 2)),
    "list": pl.Series([["a", None], [], None]),
    "list of dates": pl.Series([[dt.date(2024, 2, 29)], None]),
    "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int32, 2)),
    "struct": pl.Series([{"a": 1, "b": ["é"]}, {"a": None, "b": None}]),
    "binary": pl.Series([b"caf\xc3\xa9", b"\xff", None]),
    "null": pl.Series([None, None]),
}


@pytest.mark.cells(7)
@pytest.mark.parametrize("kind", POLARS)
def test_polars_values_read_as_in_sql(con: relserve.Connection, kind: str) -> None:
    frame = pl.DataFrame({"v": POLARS[kind]})
    assert listed(relserve.llm(frame, "<{v}>", engine=echoing())) == in_sql(con, frame, "llm('<{}>', v)")


ARROW: dict[str, pa.Array] = {
    "text": pa.array(["a", None, "a"]),
    "large text": pa.array(["a", None], pa.large_string()),
    "text views": pa.array(["a", None, "long enough to be outside the view"], pa.string_view()),
    "uint64": pa.array([2**64 - 1, None], pa.uint64()),
    "dictionary": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "dictionary with NULL among its values": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, None]), pa.array(["a", None, "b"])
    ),
    "dictionary of numbers": pa.array([5, 6, None, 5]).dictionary_encode(),
    "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(20, 2)),
    "decimal of 32 bits": pa.array([Decimal("1.50"), None, Decimal("-0.05")], pa.decimal32(5, 2)),
    "decimal of 64 bits": pa.array([Decimal("1.50"), None], pa.decimal64(10, 2)),
    "struct without a field": pa.array([{}, None], pa.struct([])),
    "date64": pa.array([dt.date(2024, 2, 29), None], pa.date64()),
    "time32": pa.array([dt.time(12, 30), None], pa.time32("s")),
    "timestamp": pa.array([WHEN, None], pa.timestamp("us")),
    "timestamp UTC": pa.array([WHEN, None], pa.timestamp("us", "UTC")),
    "duration": pa.array([dt.timedelta(seconds=5), None], pa.duration("us")),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3000]), None]),
    "binary": pa.array([b"caf\xc3\xa9", b"\xff", None]),
    "binary of fixed size": pa.array([b"ab", None], pa.binary(2)),
    "list": pa.array([[1, None], None, []]),
    "list of fixed size": pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
    "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1, "b": "é"}, None]),
    "uuid": pa.array([uuid.UUID(int=7).bytes, None], pa.uuid()),
    "null": pa.nulls(3),
}


@pytest.mark.cells(9)
@pytest.mark.parametrize("kind", ARROW)
def test_arrow_values_read_as_in_sql(con: relserve.Connection, kind: str) -> None:
    table = pa.table({"v": pa.chunked_array([ARROW[kind], ARROW[kind][1:]])})
    assert listed(relserve.llm(table, "<{v}>", engine=echoing())) == in_sql(con, table, "llm('<{}>', v)")


def test_times_read_in_the_zone_of_their_column() -> None:
    zoned = pd.Series(pd.to_datetime(["2024-07-01 12:00:00"])).dt.tz_localize
    zones = ["Europe/Berlin", "+05:30", "UTC", ZoneInfo("Asia/Tokyo"), dt.timezone(dt.timedelta(hours=-3))]
    read = [relserve.llm(zoned(zone), "{}", engine=echoing())[0] for zone in zones]
    assert read == [
        "2024-07-01 12:00:00+02", "2024-07-01 12:00:00+05:30", "2024-07-01 12:00:00+00",
        "2024-07-01 12:00:00+09", "2024-07-01 12:00:00-03",
    ]  # fmt: skip


def test_times_inside_lists_do_too_whatever_was_read_before() -> None:
    noon = dt.datetime(2024, 7, 1, 12, tzinfo=UTC)
    zones = {"Asia/Tokyo": "21:00:00+09", "Europe/Berlin": "14:00:00+02", "+05:30": "17:30:00+05:30"}
    for zone, text in [*zones.items()] * 2:
        kind = pa.struct([("l", pa.list_(pa.timestamp("us", zone)))])
        table = pa.table({"v": pa.array([{"l": [noon]}], kind)})
        said = relserve.llm(table, "{v}", engine=echoing()).to_pylist()
        assert said == [f'{{"l": ["2024-07-01 {text}"]}}']


def test_numpy_arrays_in_a_column() -> None:
    vectors = pd.Series([np.array([1.0, 2.0]), None, np.array([1.0, 2.0])], dtype=object)
    assert listed(relserve.llm(vectors, "{}", engine=echoing())) == ["[1.0, 2.0]", None, "[1.0, 2.0]"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pd.period_range("2024-01", periods=2, freq="M"), ["2024-01", "2024-02"]),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), ["(0, 1]", "(1, 2]"]),
        (pd.arrays.SparseArray([0, 0, 5]), ["0", "0", "5"]),
        ([1 + 2j, 3j], ["(1+2j)", "3j"]),
        (pd.Categorical([1, None, 1]), ["1", None, "1"]),
        (pd.cut([1, 5], [0, 2, 6]), ["(0, 2]", "(2, 6]"]),
        (pd.array([0.5, None], pd.ArrowDtype(pa.float16())), ["0.5", None]),
        (pd.Series([{1}, None], dtype=object), ["{1}", None]),
    ],
)
def test_what_sql_does_not_know_reads_as_pandas_prints_it(values: Any, texts: list[str | None]) -> None:
    assert listed(relserve.llm(pd.DataFrame({"v": values}), "{v}", engine=echoing())) == texts


def test_whole_numbers_of_128_bits_in_polars() -> None:
    numbers = pl.Series([2**100, None, -(2**126)], dtype=pl.Int128)
    assert listed(relserve.llm(numbers, "{}", engine=echoing())) == [str(2**100), None, str(-(2**126))]


def test_types_that_arrow_or_duckdb_cannot_read_are_named() -> None:
    wide = pl.DataFrame({"v": pl.Series([[2**100]], dtype=pl.List(pl.Int128))})
    with pytest.raises(UsageError, match=r"column 'v': .* List\(Int128\); cast them to pl.String"):
        relserve.llm(wide, "{v}", engine=echoing())
    with pytest.raises(UsageError, match=r"column 'v': values of the type decimal256\(50, 2\) cannot be"):
        relserve.llm(pa.table({"v": pa.nulls(1, pa.decimal256(50, 2))}), "{v}", engine=echoing())


def test_python_objects_in_polars_read_as_their_text() -> None:
    frame = pl.DataFrame({"v": pl.Series([uuid.UUID(int=7), None], dtype=pl.Object)})
    assert listed(relserve.llm(frame, "{v}", engine=echoing())) == [str(uuid.UUID(int=7)), None]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, float("nan")])
def test_a_missing_value_gives_null_without_a_call(missing: Any) -> None:
    engine = echoing()
    frame = pd.DataFrame({"v": pd.Series([missing, missing], dtype=object), "w": ["a", "b"]})
    assert listed(relserve.llm(frame, "{v} {w}", engine=engine)) == [None, None]
    assert engine.submissions == []


def test_half_a_surrogate_pair_is_an_error_that_names_the_column() -> None:
    for dtype in (object, "str"):
        try:
            frame = pd.DataFrame({"body": pd.Series(["fine", "half \ud83d"], dtype=dtype)})
        except UnicodeEncodeError:
            continue  # pandas refuses it by itself
        with pytest.raises(UsageError, match="column 'body' holds half a surrogate pair"):
            relserve.llm(frame, "{body}", engine=echoing())
