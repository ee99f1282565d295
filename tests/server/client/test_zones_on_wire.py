"""Time zones of a fixed offset, whose signs PostgreSQL reads as POSIX does, unless they are numbers."""

from __future__ import annotations

from datetime import datetime, timezone

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect

# what PostgreSQL 15 gave: SHOW TimeZone, and noon of 1 January 2000 in Greenwich
ZONES = [
    ("'-02:00'", "-02:00", "14:00:00+02"),
    ("'UTC+3'", "UTC+3", "09:00:00-03"),
    ("'UTC-05:30'", "UTC-05:30", "17:30:00+05:30"),
    ("'EST5'", "EST5", "07:00:00-05"),
    ("'<+03>-3'", "<+03>-3", "15:00:00+03"),
    ("-2", "<-02>+02", "10:00:00-02"),
    ("'5.5'", "<+05:30>-05:30", "17:30:00+05:30"),
    ("'-07:08'", "-07:08", "19:08:00+07:08"),
    ("'Etc/GMT-2'", "Etc/GMT-2", "14:00:00+02"),
    ("'EST5EDT'", "EST5EDT", "07:00:00-05"),
]


@pytest.mark.cells(5)
@pytest.mark.parametrize(("value", "shown", "noon"), ZONES)
def test_a_zone_is_read_as_postgresql_reads_it(serve: Serve, value: str, shown: str, noon: str) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute(f"SET TIME ZONE {value}")
    assert con.execute("SHOW TimeZone").fetchone() == (shown,)
    raw = con.pgconn.exec_(b"SELECT '2000-01-01 12:00+00'::timestamptz, '2100-07-01 12:00+00'::timestamptz")
    assert raw.get_value(0, 0) == f"2000-01-01 {noon}".encode()
    at_noon = con.execute(f"SELECT '2000-01-01 {noon.split('+')[0].split('-')[0]}'::timestamptz").fetchone()
    assert at_noon == (datetime(2000, 1, 1, 12, tzinfo=timezone.utc),)
    con.execute("RESET TimeZone")
    assert con.execute("SHOW TimeZone").fetchone() == ("UTC",)


@pytest.mark.parametrize("value", ["+0200", "99:00", "-16", "Nowhere+3x"])
def test_a_zone_of_no_place_is_refused(serve: Serve, value: str) -> None:
    con = connect(serve(), autocommit=True)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="TimeZone"):
        con.execute(f"SET TimeZone = '{value}'")
    assert con.execute("SHOW TimeZone").fetchone() == ("UTC",)
