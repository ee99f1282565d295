"""Types of parameters that `Connection.describe` finds, and texts that hold to them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from relserve_duckdb.describe import describer
from sql_fixtures import Made, make

from relserve.engines.scripted import echo

TIME = "TIMESTAMP WITH TIME ZONE"
FOUND = {
    "SELECT * FROM p WHERE id = $1 AND d > $2": ["BIGINT", "DATE"],
    "SELECT * FROM p WHERE d IN ($1,$2)": ["DATE", "DATE"],
    "SELECT * FROM p WHERE d BETWEEN ? AND ? LIMIT ? OFFSET ?": ["DATE", "DATE", "BIGINT", "BIGINT"],
    "SELECT body FROM p WHERE id = $2 OR body LIKE $1": ["VARCHAR", "BIGINT"],
    "INSERT INTO empty(id, d) VALUES ($1, $2)": ["BIGINT", "DATE"],
    "UPDATE p SET body = $1 WHERE id = $2": ["VARCHAR", "BIGINT"],
    "SELECT $1": ["VARCHAR"],
    "SELECT $1 + 1": ["INTEGER"],
    "SELECT ($1) * 2.5": ["DOUBLE"],
    "SELECT id + $1, $2 || body FROM p": ["BIGINT", "VARCHAR"],
    "SELECT d - $1 FROM p": ["DATE"],
    "SELECT now() > $1, now() - $2": [TIME, TIME],
    "SELECT id FROM p WHERE id = ANY($1)": ["BIGINT[]"],
    "SELECT $1::DATE, CAST($2 AS DECIMAL(9, 2))": ["DATE", "DECIMAL(9,2)"],
    "SELECT $2, $1": ["VARCHAR", "VARCHAR"],
    "SELECT $1, $3": ["VARCHAR", None, "VARCHAR"],
    "SELECT $day::DATE, $word": ["DATE", "VARCHAR"],
    "SELECT $1 = $2, coalesce($3,$4)": ["VARCHAR"] * 4,
    "SELECT sum($1), $2": ["BIGINT", "VARCHAR"],
    "SELECT date_trunc('day', $1)": ["TIMESTAMP"],
    "SELECT llm_int('{}', ?) + ?": ["VARCHAR", "BIGINT"],
    "FROM range($1)": ["BIGINT"],
    "SELECT unnest($1)": ["VARCHAR[]"],
    "SELECT nullif($1, 2)": ["INTEGER"],
    "SELECT id FROM p WHERE $1 IS NULL OR id = $1": ["BIGINT"],
    "SELECT d + $1, length($2), abs($3) FROM p": ["INTEGER", "VARCHAR", "BIGINT"],
    "SELECT '$1', $$ $2 $$, 1 AS \"$3\" -- $4\n WHERE /* ? */ $1": ["BOOLEAN"],
    "EXPLAIN SELECT $1": ["VARCHAR"],
    "SELECT llm($1, body, max_tokens := $2, choices := $3) FROM p": ["VARCHAR", "BIGINT", "VARCHAR[]"],
    "SELECT llm('is {}', $1), llm_filter('{}?', body) FROM p LIMIT $2": ["VARCHAR", "BIGINT"],
    "SELECT llm_agg('{}', body ORDER BY id) FILTER (WHERE id > $1) FROM p HAVING count(*) > $2":
        ["BIGINT", "BIGINT"],
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    """One connection for all texts, of which none writes when it runs."""
    made = make(script=echo)
    yield made
    made.con.close()


@pytest.mark.parametrize("number", ["65536", "2147483648"])
def test_a_number_of_a_parameter_makes_no_list_of_so_many(made: Made, number: str) -> None:
    with pytest.raises(duckdb.BinderException, match="takes at most 65,535"):
        made.con.describe(f"SELECT ${number}")
    assert len(made.con.describe("SELECT $65535").parameters) == 65_535


@pytest.mark.parametrize("text", FOUND)
def test_types_are_found(made: Made, text: str) -> None:
    asked = made.asked
    assert made.con.describe(text).parameters == FOUND[text]
    assert made.asked == asked


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT * FROM p WHERE id = $1 AND d > $2", ["BIGINT", "DATE"]),
        ("UPDATE p SET body = $1 WHERE id = $2", ["VARCHAR", "BIGINT"]),
        ("SELECT $1, $2::DATE, $3 + 1", ["VARCHAR", "DATE", "INTEGER"]),
        ("SELECT id + $1, $2 || body FROM p LIMIT ?", ["BIGINT", "VARCHAR", "BIGINT"]),
        ("SELECT llm($1, body, max_tokens := $2) FROM p", ["VARCHAR", "BIGINT"]),
        ("FROM range($1)", ["BIGINT"]),
    ],
)
def test_the_text_tells_most_without_the_c_interface(
    made: Made, monkeypatch: pytest.MonkeyPatch, text: str, types: list[str]
) -> None:
    monkeypatch.setattr(describer, "is_reachable", lambda con: False)
    text = text.replace("LIMIT ?", "LIMIT $3")
    assert made.con.describe(text).parameters == types


def test_types_that_are_given_win(made: Made) -> None:
    con = made.con
    for text, given, columns in (
        ("SELECT $1", ["INTEGER"], [("$1", "INTEGER")]),
        ("SELECT $1 + 1, $2", ["BIGINT", None], [("($1 + 1)", "BIGINT"), ("$2", "VARCHAR")]),
        ("SELECT id FROM p WHERE id = $1", ["INTEGER"], [("id", "BIGINT")]),
        ("SELECT id FROM p WHERE d = $1", ["VARCHAR"], [("id", "BIGINT")]),
        ("SELECT coalesce(g, $1) AS c FROM p", ["DOUBLE"], [("c", "DOUBLE")]),
        ("SELECT $b, $a", ["DATE"], [("$b", "DATE"), ("$a", "VARCHAR")]),
        ("SELECT ?, ?", [None, "DATE"], [("$1", "VARCHAR"), ("$2", "DATE")]),
    ):
        found = con.describe(text, given)
        assert found.columns == columns
        known = [kind for kind in given if kind]
        assert [kind for kind in found.parameters if kind in known] == known


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT $1, $1 + 1 AS n", [5]),
        ("SELECT $1 + 1", [5]),
        ("SELECT ?, ? || 'x', id FROM p WHERE id = ? LIMIT ?", ["a", "b", 7, 1]),
        ("SELECT $1 * 2.5, nullif($2, 2)", [100.5, 3]),
        ("SELECT id + $1 FROM p WHERE id = ANY($2) ORDER BY ALL", [1, [3, 4]]),
        ("SELECT d - $1 FROM p LIMIT 1", [datetime.date(2024, 1, 1)]),
        ("FROM range($1)", [2]),
        ("SELECT llm('is {}', $1), llm_int('{}', $2) + $3", ["it", "4", 2]),
        ("SELECT llm_agg('{}', body ORDER BY id), $1 FROM p WHERE id < $2", ["x", 3]),
    ],
)
@pytest.mark.parametrize("given", [True, False])
def test_the_runnable_text_gives_these_columns_whatever_the_values(
    made: Made, text: str, values: list[Any], given: bool
) -> None:
    found = made.con.describe(text, ["BIGINT" if type(v) is int else None for v in values] if given else ())
    ran = made.con.execute(found.runnable, values)
    assert [str(kind) for _, kind, *_ in ran.description] == [kind for _, kind in found.columns]
    rows = ran.fetchall()
    plain = made.con.execute(text, values)
    assert rows == plain.fetchall()


def test_what_only_a_value_tells_is_duckdbs_error(made: Made) -> None:
    with pytest.raises(duckdb.Error, match="read_csv"):
        made.con.describe("FROM read_csv($1)")
    with pytest.raises(duckdb.Error, match="ORDER BY"):
        made.con.describe("SELECT * FROM p ORDER BY $1")
