"""Parameters: PostgreSQL's own bytes give DuckDB the same values, and bad bytes an error that says why."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.errors import ProtocolError
from relserve.server.wire import types
from relserve.server.wire.body import MessageBody
from relserve.server.wire.numeric_binary import numeric, read_numeric
from relserve.server.wire.parameters import read_parameter
from relserve.server.wire.sqlstates import sqlstate_of
from relserve.server.wire.types import KNOWN, PgType, duckdb_type

RECORDED = json.loads((Path(__file__).parent / "postgres_values.json").read_text(encoding="utf-8"))
TEXT, BINARY = 0, 1
OIDS = sorted({*KNOWN, *types.ELEMENT_OF, 0, 999_999})


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _exact(expression: str) -> str:
    """PostgreSQL keeps microseconds, and numerics without a scale."""
    return f"({expression})::TIMESTAMP" if "TIMESTAMP_NS" in expression else expression


@pytest.mark.cells(80)
@pytest.mark.parametrize("recorded", RECORDED, ids=[f"{each['duckdb']} {each['zone']}" for each in RECORDED])
@pytest.mark.parametrize("format_code", [TEXT, BINARY])
def test_what_postgresql_sends_is_read_as_the_same_value(
    con: duckdb.DuckDBPyConnection, recorded: dict[str, Any], format_code: int
) -> None:
    raw = recorded["text"].encode() if format_code == TEXT else bytes.fromhex(recorded["binary"])
    value = read_parameter(raw, format_code, recorded["oid"])
    con.execute(f"SET TimeZone = '{recorded['zone']}'")
    expected = _exact(recorded["duckdb"])
    (kind,) = con.sql(f"SELECT {expected}").types
    if kind == "BIGNUM":  # to which DuckDB casts no DECIMAL
        kind, expected = "VARCHAR", f"({expected})::VARCHAR"
    rows = con.execute(f"SELECT $1::{kind} IS NOT DISTINCT FROM {expected}, $1::VARCHAR", [value]).fetchall()
    assert rows[0][0], rows


@pytest.mark.parametrize(
    ("text", "oid", "value"),
    [
        ("on", types.BOOL, True), (" F ", types.BOOL, False), ("+5", types.INT4, 5), (" -5 ", types.INT8, -5),
        ("4294967295", types.OID, 4_294_967_295), ("1e3", types.FLOAT8, 1000.0),
        ("-Infinity", types.NUMERIC, -math.inf), (" 1.50 ", types.NUMERIC, Decimal("1.50")),
        ("\\x", types.BYTEA, b""), ("a\\\\b\\001", types.BYTEA, b"a\\b\1"),
        ("{FC0E9BD42C764E21B685E17AA2A233C3}", types.UUID, UUID("fc0e9bd4-2c76-4e21-b685-e17aa2a233c3")),
        ("1", 0, "1"), ("x", types.UNKNOWN, "x"), ("x", 999_999, "x"), ("x", types.TEXT, "x"),
    ],
)  # fmt: skip
def test_texts_of_plain_values(text: str, oid: int, value: Any) -> None:
    assert read_parameter(text.encode(), TEXT, oid) == value


def test_null_is_none() -> None:
    assert read_parameter(None, BINARY, types.INT4) is None


@pytest.mark.parametrize(
    ("text", "oid", "value"),
    [
        ("2020-01-31 +01", types.DATE, "2020-01-31"), ("2020-01-31T10:00:00Z", types.DATE, "2020-01-31"),
        ("2020-01-31 10:00:00.5+01", types.TIMESTAMP, "2020-01-31 10:00:00.5"),
        ("2020-01-31", types.TIMESTAMP, "2020-01-31 00:00:00"),
        ("0044-03-15 10:00:00+01 BC", types.TIMESTAMPTZ, "0044-03-15 (BC) 09:00:00+00"),
        ("2020-01-31T10:00:00+05:30", types.TIMESTAMPTZ, "2020-01-31 04:30:00+00"),
        ("12:30", types.TIME, "12:30:00"), ("12:30:00+01", types.TIME, "12:30:00"),
        ("12:30:00-05:30", types.TIMETZ, "12:30:00-05:30"), ("{\"a\": 1}", types.JSONB, "{\"a\": 1}"),
        ("{{1,2},{3,4}}", 1007, "[[1, 2], [3, 4]]"), ("[0:1]={1,2}", 1007, "[1, 2]"), ("{}", 1007, "[]"),
        ("{ a , \"b\\\"c\" , null}", 1009, "[a, 'b\"c', NULL]"),
        ("{2020-01-31,infinity}", 1182, "[2020-01-31, infinity]"),
    ],
)  # fmt: skip
def test_texts_that_drivers_send(con: duckdb.DuckDBPyConnection, text: str, oid: int, value: str) -> None:
    con.execute("SET TimeZone = 'UTC'")
    kind = duckdb_type(oid)
    given_value = read_parameter(text.encode(), TEXT, oid)
    assert con.execute("SELECT $1::VARCHAR", [given_value]).fetchone() == (value,)
    if text not in ("{}",) and "{{" not in text:
        assert con.execute("SELECT typeof($1)", [given_value]).fetchone() == (kind,)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 year 2 mons -3 days +04:05:06.7", (14, -3, 14_706_700_000)),
        ("-00:00:01.5", (0, 0, -1_500_000)), ("P1Y2M3DT4H5M6.5S", (14, 3, 14_706_500_000)),
        ("P2W", (0, 14, 0)), ("PT-1S", (0, 0, -1_000_000)), ("@ 1 day 2 hours ago", (0, -1, -7_200_000_000)),
        ("1.5 months", (1, 15, 0)), ("0.5 days", (0, 0, 43_200_000_000)), ("90", (0, 0, 90_000_000)),
        ("1 day 3 second 5 microsecond", (0, 1, 3_000_005)), ("2 centuries", (2400, 0, 0)),
        ("0 years 0 mons 1 days 0 hours 0 mins 0.00 secs", (0, 1, 0)), ("12:30", (0, 0, 45_000_000_000)),
    ],
)  # fmt: skip
def test_words_of_intervals(con: duckdb.DuckDBPyConnection, text: str, parts: tuple[int, int, int]) -> None:
    months, days, micros = parts
    value = f"{months} months {days} days {micros} microseconds"
    given = read_parameter(text.encode(), TEXT, types.INTERVAL)
    assert con.execute("SELECT $1::VARCHAR = $2::INTERVAL::VARCHAR", [given, value]).fetchone() == (True,)


@pytest.mark.parametrize("text", ["", "1 parsec", "P", "PX", "1 day x", "--1 day", "P1.2.3Y", "x"])
def test_words_of_no_interval(con: duckdb.DuckDBPyConnection, text: str) -> None:
    with pytest.raises(duckdb.Error) as raised:
        con.execute("SELECT $1", [read_parameter(text.encode(), TEXT, types.INTERVAL)])
    said = str(raised.value).removeprefix("Invalid Input Error: ")
    assert sqlstate_of(raised.value, said) == "22007"
    assert said.startswith("Failed to cast value: ")


@pytest.mark.parametrize(
    ("raw", "format_code", "oid", "sqlstate", "words"),
    [
        (b"x", TEXT, types.INT4, "22P02", 'type int4: "x"'),
        (b"2147483648", TEXT, types.INT4, "22003", "from -2147483648 to 2147483647"),
        (b"-1", TEXT, types.OID, "22003", "out of range"),
        (b"maybe", TEXT, types.BOOL, "22P02", "type bool"),
        (b"1,5", TEXT, types.NUMERIC, "22P02", "type numeric"),
        (b"\\xzz", TEXT, types.BYTEA, "22P02", "type bytea"),
        (b"\\9", TEXT, types.BYTEA, "22P02", "type bytea"),
        (b"x", TEXT, types.UUID, "22P02", "type uuid"),
        (b"\xff", TEXT, types.TEXT, "22021", "0xff"),
        (b"1,2", TEXT, 1007, "22P02", "must start with {"),
        (b"{1,2", TEXT, 1007, "22P02", "ends too early"),
        (b"{1,,2}", TEXT, 1007, "22P02", "an element is missing"),
        (b"{1}x", TEXT, 1007, "22P02", "comes after its last }"),
        (b"{1,{2}}", TEXT, 1007, "22P02", "different depths"),
        (b"{{{{{{{1}}}}}}}", TEXT, 1007, "22P02", "more than 6 dimensions"),
        (b'{"a" b}', TEXT, 1009, "22P02", "a comma or } is wanted"),
        (b"\0\0\5", BINARY, types.INT4, "22P03", "byte 0 of 3, 4 more wanted"),
        (b"\0\0\0\0\5", BINARY, types.INT4, "22P03", "1 bytes too many"),
        (b"\0\1\0\0\0\0\0\0\x27\x10", BINARY, types.NUMERIC, "22P03", "sign or digit"),
        (b"\0\0\0\0\0\1\0\0", BINARY, types.NUMERIC, "22P03", "sign or digit"),
        (b"\xff" * 8, BINARY, types.TIME, "22008", "24 hours"),
        (b"1" * 39 + b".5", TEXT, types.NUMERIC, "22003", "more than 38 digits"),
        (b"1e1000000000", TEXT, types.NUMERIC, "22003", "more than 4300 digits"),  # no hour of work
        (b"\2{}", BINARY, types.JSONB, "22P03", "jsonb version number 2"),
        (b"\0\0\0\x09\0", BINARY, types.VARBIT, "22P03", "9 bits in 1 bytes"),
        (
            b"\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\1\0\0\0\1\0\0\0\0",
            BINARY,
            1007,
            "22P03",
            "of type 25, not 23",
        ),
        (
            b"\0\0\0\1\0\0\0\0\0\0\0\x17\x7f\xff\xff\xff\0\0\0\1",
            BINARY,
            1007,
            "22P03",
            "2147483647 elements in 0",
        ),
        (b"\xff\xff\xff\xff\0\0\0\0\0\0\0\x17", BINARY, 1007, "22P03", "-1 dimensions"),
    ],
)
def test_bad_bytes(raw: bytes, format_code: int, oid: int, sqlstate: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as raised:
        read_parameter(raw, format_code, oid)
    assert raised.value.sqlstate == sqlstate


@given(st.binary(max_size=40), st.sampled_from([TEXT, BINARY]), st.sampled_from(OIDS))
def test_any_bytes_give_a_value_or_a_protocol_error(raw: bytes, format_code: int, oid: int) -> None:
    try:
        read_parameter(raw, format_code, oid)
    except ProtocolError as error:
        sqlstate = error.sqlstate
    else:
        sqlstate = "22P02"
    # 0A000: bytes of a type that nobody knows are no text; 54000: too many bits.
    assert sqlstate in ("22P02", "22P03", "22003", "22007", "22008", "22021", "0A000", "54000")


@given(st.integers(), st.integers(0, 50))
def test_numerics_come_back_from_their_binary_form(unscaled: int, scale: int) -> None:
    number = read_numeric(MessageBody("numeric", numeric(unscaled, scale)))
    assert isinstance(number, Decimal)
    sign, digits, exponent = number.as_tuple()
    assert (-1) ** sign * int("".join(map(str, digits))) == unscaled
    assert exponent == -scale


def test_the_name_of_an_array_is_known() -> None:
    assert PgType(1007, -1, types.INT4).name == "_int4"


@pytest.mark.parametrize(
    ("raw", "oid", "text"),
    [
        (b"\2\x18\0\4\1\2\3\4", 869, "1.2.3.4/24"),
        (b"\2\x20\0\4\1\2\3\4", 869, "1.2.3.4"),
        (b"\2\x20\1\4\1\2\3\4", 650, "1.2.3.4/32"),
        (b"\3\x80\0\x10" + bytes(10) + b"\xff\xff\1\2\3\4", 869, "::ffff:1.2.3.4"),
    ],
)
def test_network_addresses_are_texts_as_postgresql_writes_them(raw: bytes, oid: int, text: str) -> None:
    assert read_parameter(raw, 1, oid) == text


@pytest.mark.parametrize("raw", [b"\2\x21\0\4\1\2\3\4", b"\3\x20\0\4\1\2\3\4", b"\2\x20\0\5\1\2\3\4"])
def test_no_network_addresses(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as told:
        read_parameter(raw, 1, 869)
    assert told.value.sqlstate == "22P03"


@pytest.mark.parametrize("oid", [1041, 3905, 6150])  # arrays of inet, int4range and int4multirange
def test_the_binary_form_of_an_unknown_type_is_refused_by_its_number(oid: int) -> None:
    with pytest.raises(ProtocolError, match=f"OID {oid} is not read here") as told:
        read_parameter(b"\0\0\0\1\0\0\0\0\0\0\x0f\x40", 1, oid)
    assert told.value.sqlstate == "0A000"
