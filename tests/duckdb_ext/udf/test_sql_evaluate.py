"""`FROM llm_evaluate(table, answer, label)`: the figures of `relserve.evaluate`, in a statement."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import relserve
from relserve.cli import demo
from relserve.engines.scripted import ScriptedEngine

ASKED = "llm_filter('Praise? {review}', review)"


@pytest.fixture
def con() -> Iterator[relserve.Connection]:
    with relserve.connect(engine=ScriptedEngine(), progress=False) as con:
        demo.prepare(con)
        yield con


def test_the_figures_are_those_of_evaluate(con: relserve.Connection) -> None:
    found = con.sql(f"FROM llm_evaluate('reviews', {ASKED}, stars >= 4)").to_arrow_table()
    reviews = con.raw.sql("SELECT *, stars >= 4 AS label FROM reviews").to_arrow_table()
    expected = relserve.evaluate(
        reviews, "Praise? {review}", label="label", engine=ScriptedEngine(), progress=False
    ).summary
    (row,), (wanted,) = found.to_pylist(), expected.select(found.column_names).to_pylist()
    assert row == pytest.approx(wanted, abs=1e-12)


def test_rows_without_a_label_are_not_asked_and_the_others_once(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT i, CASE WHEN i < 3 THEN true END AS label FROM range(10) r(i)")
    con.execute("FROM llm_evaluate('t', llm_filter('Is it {i}?', i), label)").fetchall()
    (query,) = con.session.history.queries()
    assert (query.num_rows, query.num_distinct) == (3, 3)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("('a', 'a'), ('b', 'B'), (NULL, 'c'), ('d', NULL)", (3, 1, 1)),
        ("(' two  words', 'two words'), ('x', 'y')", (2, 1, 0)),
        ("(4.0::DOUBLE, 4), (5.5, 5)", (2, 1, 0)),
        ("({'a': 1}, {'a': 1}), ({'a': 2}, {'a': 1})", (2, 1, 0)),
    ],
)
def test_values_are_compared_as_evaluate_compares_them(
    con: relserve.Connection, values: str, expected: tuple[int, int, int]
) -> None:
    """The columns have the names of the macro's parameters."""
    con.execute(f"CREATE TABLE t AS SELECT 1 AS data, * FROM (VALUES {values}) v(answer, label)")
    found = con.execute(
        "SELECT rows, right_answers, null_answers FROM llm_evaluate('t', answer, label)"
    ).fetchone()
    assert found == expected


def test_no_labelled_row_has_no_accuracy(con: relserve.Connection) -> None:
    found = con.execute("FROM llm_evaluate('reviews', true, NULL::BOOLEAN)").fetchall()
    assert found == [(0, 0, 0, None, None, None)]


def test_a_sample_is_named_by_a_with(con: relserve.Connection) -> None:
    few = "(FROM reviews WHERE stars IS NOT NULL ORDER BY id LIMIT 50)"
    found = con.execute(f"WITH few AS {few} SELECT rows FROM llm_evaluate('few', {ASKED}, stars > 3)")
    assert found.fetchall() == [(50,)]


def test_explain_counts_and_asks_nothing(con: relserve.Connection) -> None:
    (call,) = con.explain_llm(f"FROM llm_evaluate('reviews', {ASKED}, stars >= 4)").table.to_pylist()
    assert (call["rows"], call["distinct_prompts"]) == (296, 284)
    assert con.session.history.queries() == []


def test_macros_of_the_database_take_no_functions_place(con: relserve.Connection) -> None:
    for name in ("+", "-", "*", "/", "sqrt", "least", "greatest", "trim", "regexp_replace"):
        con.raw.execute(f"CREATE MACRO \"{name}\"(a, b := 0, c := 0, d := 0) AS error('captured')")
    con.raw.execute("CREATE MACRO query_table(a) AS TABLE SELECT error('captured') AS stars")
    assert con.execute("SELECT rows FROM llm_evaluate('reviews', stars, stars)").fetchall() == [(296,)]


def test_a_table_that_is_not_there_is_told(con: relserve.Connection) -> None:
    with pytest.raises(duckdb.Error, match="reviewz"):
        con.execute(f"FROM llm_evaluate('reviewz', {ASKED}, stars >= 4)").fetchall()
