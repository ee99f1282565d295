"""The statement EXPLAIN: DuckDB's plan in the user's words, and a row about the llm calls."""

from __future__ import annotations

import json

import duckdb
import pytest
from sql_fixtures import Made


def test_explain_shows_duckdbs_plan_and_adds_a_row(made: Made) -> None:
    sql = "EXPLAIN SELECT llm('s {}', body) FROM p"
    ((kind, drawn),) = made.con.raw.execute(sql).fetchall()
    for rows in (made.rows(sql), made.con.sql(sql).fetchall()):
        (plan,) = rows[:-1]
        assert plan[0] == kind
        for said in ("Projection", "Seq Scan", "Table: memory.main.p", "~10,000 rows"):
            assert said in plan[1]
            assert said in drawn
        key, text = rows[-1]
        assert key == "llm_calls"
        assert "llm('s {}')" in text
        assert "10,000 rows, 500 distinct prompts" in text
    heads = [column[0] for column in made.con.execute(sql).description]
    assert (heads, len(made.con.fetchall())) == (["explain_key", "explain_value"], 2)
    assert made.con.sql(sql).columns == ["explain_key", "explain_value"]
    assert made.asked == (0, 0)


def test_explain_of_several_plans(made: Made) -> None:
    made.con.execute("SET explain_output = 'all'")
    keys = [key for key, _ in made.rows("EXPLAIN SELECT llm('s {}', body) FROM p")]
    assert keys == ["logical_plan", "logical_opt", "physical_plan", "llm_calls"]


@pytest.mark.parametrize("form", ["EXPLAIN (FORMAT JSON)", "EXPLAIN (FORMAT HTML)", "EXPLAIN ANALYZE"])
def test_other_forms_are_untouched(made: Made, form: str) -> None:
    rows = made.rows(f"{form} SELECT llm('s {{}}', body) FROM p")
    assert [row[0] for row in rows] != []
    assert all(row[0] != "llm_calls" for row in rows)
    if "JSON" in form:
        assert json.loads(rows[0][1])


def test_explain_without_llm_calls_is_untouched(made: Made) -> None:
    assert len(made.rows("EXPLAIN SELECT 1 AS llm_free FROM p")) == 1
    assert len(made.con.sql("EXPLAIN SELECT count(*) FROM p").fetchall()) == 1


def test_explain_in_a_text_of_several_statements_and_with_parameters(made: Made) -> None:
    sql = "CREATE TABLE three AS FROM range(3) t(i); EXPLAIN SELECT llm('s {}', i) FROM three WHERE i < $1"
    assert "2 rows" in made.rows(sql, [2])[-1][1]


def test_explain_in_a_transaction_leaves_it_open(made: Made) -> None:
    made.rows("BEGIN")
    made.rows("CREATE TABLE fresh AS SELECT 'x' AS a")
    assert "llm_calls" in made.rows("EXPLAIN SELECT llm('s {}', a) FROM fresh")[-1]
    assert made.rows("SELECT a FROM fresh") == [("x",)]
    made.rows("ROLLBACK")


def test_an_unread_result_is_not_lost(made: Made) -> None:
    made.con.execute("SELECT id FROM p")
    with pytest.raises(duckdb.Error, match="unfinished result"):
        made.con.explain_llm("SELECT llm('s {}', body) FROM p")
    assert len(made.con.fetchall()) == 10000
