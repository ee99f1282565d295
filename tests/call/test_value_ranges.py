"""Times and dates that DuckDB cannot print are refused by their number, and harm no later column."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from relserve.call import values
from relserve.call.values import values_of
from relserve.errors import UsageError

MICROSECONDS = 1_700_000_000_000_000  # of a day in 2023, which someone has put into a column of seconds
NOON = pa.array([43_200], pa.time32("s"))


def column(number: int, kind: pa.DataType) -> pa.Array:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array([0, None, number], width).view(kind)


OUTSIDE = {
    "timestamp in seconds": column(MICROSECONDS, pa.timestamp("s")),
    "timestamp with a zone": column(MICROSECONDS * 1000, pa.timestamp("ms", "UTC")),
    "least timestamp": column(-(2**63), pa.timestamp("us")),
    "time32 after midnight": column(86_401, pa.time32("s")),
    "time32 in milliseconds": column(-1, pa.time32("ms")),
    "time64": column(-1, pa.time64("us")),
    "time64 in nanoseconds": column(2**62, pa.time64("ns")),
    "date64": column(2**62, pa.date64()),
    "duration": column(2**53, pa.duration("s")),
    "dictionary": column(MICROSECONDS, pa.timestamp("s")).dictionary_encode(),
    "list": pa.ListArray.from_arrays([0, 3], column(MICROSECONDS, pa.timestamp("s"))),
    "struct of an array": pa.StructArray.from_arrays(
        [pa.FixedSizeListArray.from_arrays(column(-1, pa.time64("us")), 3)], ["a"]
    ),
    "map": pa.MapArray.from_arrays([0, 3], ["a", "b", "c"], column(2**62, pa.time64("us"))),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_number_out_of_range_is_named_with_its_type(name: str) -> None:
    with pytest.raises(UsageError, match=r"the number -?\d+ is out of range for the type (time|date|dura)"):
        values_of(OUTSIDE[name])
    assert values_of(NOON) == ["12:00:00"]


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (9_223_372_036_854, pa.timestamp("s"), "294247-01-10 04:00:54"),
        (-9_223_372_022_400_000, pa.timestamp("ms"), "290309-12-22 (BC) 00:00:00"),
        (2**63 - 1, pa.timestamp("s"), "infinity"),
        (1 - 2**63, pa.timestamp("us", "UTC"), "-infinity"),
        (86_400, pa.time32("s"), "24:00:00"),
    ],
)
def test_the_ends_of_the_ranges_are_printed(number: int, kind: pa.DataType, text: str) -> None:
    assert values_of(column(number, kind))[2] == text


def test_rows_that_are_cut_off_are_not_looked_at() -> None:
    assert values_of(OUTSIDE["timestamp in seconds"][:2]) == ["1970-01-01 00:00:00", None]
    assert values_of(OUTSIDE["list"][:0]) == []


def test_a_connection_whose_database_broke_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(array: Any) -> None:
        """Lets every number through."""

    with monkeypatch.context() as patched:
        patched.setattr(values, "check_ranges", unchecked)
        with pytest.raises(UsageError, match=r"type timestamp\[s\] cannot be printed") as caught:
            values_of(OUTSIDE["timestamp in seconds"])
    assert isinstance(caught.value.__cause__, duckdb.Error)
    assert values_of(NOON) == ["12:00:00"]


def test_a_type_that_duckdb_cannot_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"values of the type decimal256\(50, 2\) cannot be printed"):
        values_of(pa.array([1], pa.decimal256(50, 2)))
