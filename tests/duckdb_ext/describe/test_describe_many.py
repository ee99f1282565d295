"""Statements of as many parameters as PostgreSQL's protocol carries."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from relserve_duckdb.describe.binding import StatementBinding
from relserve_duckdb.describe.casts import without_casts
from relserve_duckdb.describe.prepared import BoundStatement
from sql_fixtures import Made

MOST = 32_767


def places(count: int) -> str:
    return ", ".join(f"${i}" for i in range(1, count + 1))


@pytest.mark.parametrize(
    ("text", "num_binds"),
    [
        ("SELECT a FROM t WHERE a IN ({})", 1),
        ("SELECT a FROM t WHERE a NOT IN({}) AND b in ($1,$2)", 1),
        ("SELECT coalesce(a, $1) FROM t WHERE a IN ({})", 2),
        ("SELECT 'a in ', coalesce({}) FROM t", 2),
    ],
)
def test_a_list_after_in_is_bound_once_whatever_its_types_are(text: str, num_binds: int) -> None:
    bound: list[str] = []

    def prepare(text: str) -> BoundStatement:
        bound.append(text)
        return BoundStatement((("a", "INTEGER"),), {str(i): "INTEGER" for i in range(1, 6)})

    StatementBinding(prepare, text.format(places(5)), ["SMALLINT"] * 5, counts=False).describe()
    assert len(bound) == num_binds


def test_what_gives_a_count_alone_is_bound_once() -> None:
    bound: list[str] = []

    def prepare(text: str) -> BoundStatement:
        bound.append(text)
        return BoundStatement((("Count", "BIGINT"),), {"1": "INTEGER"})

    told = StatementBinding(prepare, "INSERT INTO t VALUES ($1)", ["SMALLINT"], counts=True).describe()
    assert bound == [told.runnable] == ["INSERT INTO t VALUES ($1)"]
    assert told.parameters == ["SMALLINT"]


def test_a_columns_name_loses_the_casts_of_its_own_parameters() -> None:
    name = "(CAST($1 AS DECIMAL(18,3)) + CAST($12 AS INTEGER[]) + CAST($3 AS DATE))"
    assert without_casts(name, {"1", "12"}) == "($1 + $12 + CAST($3 AS DATE))"


@pytest.mark.performance
@pytest.mark.parametrize("text", ["SELECT id FROM p WHERE id IN ({})", "SELECT {}"])
def test_a_statement_of_32767_parameters_is_described_in_a_second(
    made: Made, text: str, limit_s: Callable[..., float]
) -> None:
    count = MOST if "FROM" in text else MOST // 16
    began = time.monotonic()
    found = made.con.describe(text.format(places(count)), ["SMALLINT"] * count)
    assert time.monotonic() - began < limit_s(1)
    assert found.parameters == ["SMALLINT"] * count
