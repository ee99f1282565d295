"""Numeric parameters: every digit that a client bound counts, as in PostgreSQL."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect

WIDEST = "9" * 38
KEPT = ["8.123456", "0.000001", "18446744073709551616", "-0.50", "1E-38", WIDEST, "1." + "1" * 37, "9" * 60]


@pytest.fixture
def con(serve: Serve) -> psycopg.Connection[Any]:
    return connect(serve(), autocommit=True)


@pytest.mark.parametrize("form", ["%t", "%b"])
def test_no_digit_of_a_numeric_is_lost(con: psycopg.Connection[Any], form: str) -> None:
    for given in map(Decimal, KEPT):
        assert str(con.execute(f"SELECT {form}", (given,)).fetchone()) == str((given,))


def test_a_numeric_keeps_its_digits_wherever_it_stands(con: psycopg.Connection[Any]) -> None:
    con.execute("CREATE TABLE t (id INTEGER, a DECIMAL(30,10), d DOUBLE)")
    small = Decimal("0.0000000001")
    con.execute("INSERT INTO t VALUES (1, %s, %s)", (Decimal("12345678901234567890.1"), Decimal("0.1234567")))
    con.execute("UPDATE t SET a = a + %s WHERE d = %s", (small, Decimal("0.1234567")))
    assert con.execute(
        "SELECT a FROM t WHERE a - %s = %s", (small, Decimal("12345678901234567890.1"))
    ).fetchall() == [(Decimal("12345678901234567890.1000000001"),)]
    for text in ("%s * 2", "coalesce(%s, 0) + %s", "abs(%s) * 2"):
        values = [Decimal("1.1234567")] * text.count("%s")
        assert con.execute(f"SELECT {text}", values).fetchone() == (Decimal("2.2469134"),)
    assert con.execute("SELECT %s, %s + 1", (None, Decimal("8.123456"))).fetchone() == (
        None,
        Decimal("9.123456"),
    )


@pytest.mark.parametrize("binary", [False, True])
def test_an_array_of_numerics_keeps_the_digits_of_each(con: psycopg.Connection[Any], binary: bool) -> None:
    given = [Decimal("1.5"), Decimal("8.123456"), None, Decimal("12345678901234567890")]
    form = "%b" if binary else "%t"
    assert con.execute(f"SELECT {form}", (given,)).fetchone() == (given,)
    assert con.execute(f"SELECT min(x) FROM unnest({form}) u(x) WHERE x > 5", (given,)).fetchone() == (
        given[1],
    )
    assert con.execute(f"SELECT 8.123456 = ANY({form}), 8.123 = ANY({form})", (given, given)).fetchone() == (
        True,
        None,
    )


def test_a_numeric_that_no_decimal_holds_is_refused_in_plain_words(con: psycopg.Connection[Any]) -> None:
    for given, words in (
        ("NaN", "no DECIMAL holds"), ("-Infinity", "no DECIMAL holds"),
        ("1E-39", "more than 38 digits"), (f"{WIDEST}.5", "more than 38 digits"),
    ):  # fmt: skip
        with pytest.raises(psycopg.errors.NumericValueOutOfRange, match=words):
            con.execute("SELECT %s + 1", (Decimal(given),))
    with pytest.raises(psycopg.errors.NumericValueOutOfRange, match="digits before the point"):
        con.execute("SELECT %s", ([Decimal("1E-20"), Decimal("1E25")],))
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        con.execute("SELECT %s::int", (Decimal(2**64),))
    assert str(con.execute("SELECT %s::float8", (Decimal("NaN"),)).fetchone()) == "(nan,)"


def test_the_width_of_a_numeric_column_is_told_where_no_parameter_decides_it(
    con: psycopg.Connection[Any],
) -> None:
    con.execute("CREATE TABLE t (a DECIMAL(30,10))")
    cursor = con.execute("SELECT a, %s AS b, a + %s AS c FROM t WHERE a > %s", [Decimal("1.2345")] * 3)
    told = [(each.precision, each.scale) for each in cursor.description or ()]
    assert told == [(30, 10), (None, None), (31, 10)]


def test_a_prepared_statement_takes_numerics_of_other_widths(con: psycopg.Connection[Any]) -> None:
    for given in ("1.5", "0.000001", "8.123456789012345678", WIDEST):
        assert con.execute("SELECT %s", (Decimal(given),), prepare=True).fetchone() == (Decimal(given),)
