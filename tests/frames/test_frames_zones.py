"""The zone of a frame's times is data: known ones are obeyed, others refused, and none is run as SQL."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from dateutil import tz
from frames_fixtures import echoing

import relserve
from relserve.errors import UsageError

NOON = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)


def said(frame: Any) -> list[Any]:
    return list(pa.array(relserve.llm(frame, "{}", engine=echoing())).to_pylist())


@pytest.mark.parametrize("kind", [lambda t: t, pa.list_, lambda t: pa.struct([("a", t)])])
def test_the_name_of_a_zone_is_never_run_as_sql(tmp_path: Path, kind: Any) -> None:
    written = tmp_path / "written.csv"
    zone = f"UTC'; COPY (SELECT 1) TO '{written}'; --"
    column = pa.nulls(2, kind(pa.timestamp("us", zone)))
    with pytest.raises(UsageError, match=r"column 'value'.* zone .* DuckDB does not know"):
        said(column)
    assert not written.exists()


@pytest.mark.parametrize("zone", ["Mars/Olympus", "BRST", "+99:00", "tzlocal()"])
def test_a_zone_that_duckdb_does_not_know_is_refused_and_the_next_column_is_read(zone: str) -> None:
    with pytest.raises(UsageError, match="convert them to one that it knows"):
        said(pa.array([NOON], pa.timestamp("us", zone)))
    assert said(pa.array([NOON], pa.timestamp("us", "Asia/Tokyo"))) == ["2024-07-01 21:00:00+09"]


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (tz.tzoffset("BRST", -10_800), "09:00:00-03"),
        (tz.tzoffset(None, 19_800), "17:30:00+05:30"),
        (tz.tzutc(), "12:00:00+00"),
        (tz.gettz("Europe/Berlin"), "14:00:00+02"),
    ],
)
def test_zones_of_dateutil_are_obeyed(zone: dt.tzinfo, text: str) -> None:
    times = pd.Series([NOON]).dt.tz_convert(zone)
    assert said(times) == said(times.astype("category")) == [f"2024-07-01 {text}"]
