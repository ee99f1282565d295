"""A literal that is cast to numeric keeps its digits."""

from __future__ import annotations

from decimal import Decimal

import psycopg
import pytest

from relserve.server.client.literals import before, with_digits_of_numerics
from tests.server.client.conftest import Serve, connect

PUT = [
    ("SELECT '8.123456'::numeric, 1", "SELECT '8.123456'::DECIMAL(18,6), 1"),
    ("SELECT 1.00000001 :: decimal", "SELECT 1.00000001::DECIMAL(18,8)"),
    (
        "SELECT CAST('-12345678901234567.1' AS Numeric)",
        "SELECT CAST('-12345678901234567.1' AS DECIMAL(20,3))",
    ),
    ("SELECT 5::dec + .12345::numeric", "SELECT 5::DECIMAL(18,3) + .12345::DECIMAL(18,5)"),
    (f"SELECT {'9' * 36}::numeric", f"SELECT {'9' * 36}::DECIMAL(36,0)"),
]
KEPT = [
    "SELECT '8.123456'::numeric(9,2), a::numeric, 'x'::numeric, ''::numeric, 'NaN'::numeric, $1::numeric",
    "SELECT '1.5'::numeric[], \"1.5\"::numeric, t1.5::numeric, 1e5::numeric -- 1.5::numeric",
    "SELECT '1.5::numeric', $$1.5::numeric$$, 1.5::numerics, try_cast('1.5' AS numeric)",
    f"SELECT {'9' * 39}::numeric",
]


@pytest.mark.parametrize(("text", "put"), PUT)
def test_a_literal_keeps_its_digits(text: str, put: str) -> None:
    assert with_digits_of_numerics(text) == put


@pytest.mark.parametrize("text", KEPT)
def test_everything_else_stays(text: str) -> None:
    assert with_digits_of_numerics(text) == text


def test_digits_of_what_a_driver_writes_into_its_text(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    assert con.execute("SELECT %s::numeric, %s::numeric", (Decimal("0.000001"), "-8.123456")).fetchone() == (
        Decimal("0.000001"), Decimal("-8.123456"),
    )  # fmt: skip
    con.execute("CREATE TABLE t AS SELECT 0::numeric AS a")
    con.execute("UPDATE t SET a = a + '1.125'::numeric")
    assert con.execute("SELECT a FROM t").fetchone() == (Decimal("1.125"),)


def test_what_stands_far_before_a_literal_is_not_copied() -> None:
    assert before("x" * 100_000 + "cast(", 100_005) == "x" * 55 + "cast("
    assert before("cast(1", 5) == "cast("
