"""EXECUTE read as the prepared statement with its values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb
import pytest
from relserve_duckdb.text.executed import executed


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE SEQUENCE s")
        con.execute("PREPARE places AS SELECT ? AS a, ? AS b")
        con.execute("PREPARE names AS SELECT $a AS a, $b AS b")
        con.execute('PREPARE "odd ""name" AS SELECT 1 AS a, 2 AS b')
        yield con


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("EXECUTE places(1, 'it''s (not) -- one')", [1, "it's (not) -- one"]),
        ("/* a */ execute PLACES (-15, '2020-01-02'::DATE); -- )", [-15, date(2020, 1, 2)]),
        ("EXECUTE names(b := NULL, a := true)", {"a": True, "b": None}),
        ('EXECUTE "odd ""name"', None),
        ("EXECUTE'odd \"name'", None),
        ("EXECUTE/* a */places/* b */(1, 2)", [1, 2]),
    ],
)
def test_its_values_are_parameters(con: duckdb.DuckDBPyConnection, text: str, values: Any) -> None:
    found = executed(con, text)
    assert found is not None
    statement, given = found
    assert statement.rehearsal
    assert given == values
    assert con.execute(statement.text, given).fetchall() == con.execute(text).fetchall()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1", "EXECUTE nothing(1)", "EXECUTE places(1, nextval('s'))", "EXECUTE places(1, (SELECT 2))",
        "EXECUTE places(?, 1)", "EXECUTE places(1, 0.1::FLOAT)", "EXECUTE places('infinity'::DATE, 1)",
        "EXECUTE names(a := 1, b := '1 month'::INTERVAL)",
    ],
)  # fmt: skip
def test_other_texts_are_none(con: duckdb.DuckDBPyConnection, text: str) -> None:
    assert executed(con, text) is None
    assert con.execute("SELECT nextval('s')").fetchall() == [(1,)], "no value is looked for"


def test_an_open_result_stays(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("FROM range(10)")
    with pytest.raises(duckdb.Error):
        executed(con, "EXECUTE places(1, 2)")
    assert len(con.fetchall()) == 10
