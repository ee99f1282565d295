"""EXPLAIN of text2sql(): it asks no model; it shows the SQL that is known, or that none is."""

from __future__ import annotations

import pytest
from questions.recorded_answers import ANSWERS, asking


@pytest.mark.cells(1)
@pytest.mark.parametrize("explain", ["EXPLAIN", "EXPLAIN (FORMAT JSON)", "explain /* why */"])
def test_explain_says_that_a_question_was_not_asked(explain: str) -> None:
    asked = asking()
    ((key, told),) = asked.rows(f"{explain} SELECT 1 FROM text2sql('It''s \"quoted\"?', model := 'm')")
    assert key == "text2sql"
    assert told.startswith('"It\'s "quoted"?" has not been asked')
    assert "EXPLAIN asks no model" in told
    assert "m is then asked for candidates, 3 at this effort" in told
    assert asked.pipeline.asked == []


def test_explain_shows_the_sql_of_a_question_that_was_asked() -> None:
    asked = asking()
    asked.rows("FROM text2sql('Strong?')")
    relation = asked.con.sql("EXPLAIN SELECT name FROM text2sql('Strong?')")
    assert relation is not None
    for rows in (asked.rows("EXPLAIN SELECT name FROM text2sql('Strong?')"), relation.fetchall()):
        assert [key for key, _ in rows] == ["physical_plan", "text2sql"]
        assert rows[-1][1] == ANSWERS["Strong?"]
        assert "beers" in rows[0][1]
    ((key, plan),) = asked.rows("EXPLAIN (FORMAT JSON) SELECT name FROM text2sql('Strong?')")
    assert (key, plan[0]) == ("physical_plan", "[")
    assert len(asked.pipeline.asked) == 1
    (_, told) = asked.rows("EXPLAIN SELECT name FROM text2sql('Strong?', seed := 1)")[0]
    assert "has not been asked" in told


@pytest.mark.long
def test_what_was_asked_of_other_tables_is_not_shown() -> None:
    asked = asking()
    explain = "EXPLAIN FROM text2sql('Count?')"
    asked.rows("SELECT text2sql_query('Count?', evidence := 'x')")
    assert "has not been asked" in asked.rows(explain)[0][1]
    asked.rows("FROM text2sql('Count?')")
    assert asked.rows(explain)[0][0] == "physical_plan"
    asked.rows("CREATE SCHEMA s; CREATE TABLE s.beers(a INT); USE s")
    assert "has not been asked" in asked.rows(explain)[0][1]
    asked.rows("USE main; DROP TABLE beers")
    assert "its tables changed since" in asked.rows(explain)[0][1]


def test_explain_analyze_asks_and_runs() -> None:
    asked = asking()
    ((_, plan),) = asked.rows("EXPLAIN ANALYZE FROM text2sql('Count?')")
    assert "Total Time" in plan
    assert len(asked.pipeline.asked) == 1


@pytest.mark.long
def test_what_llm_calls_beside_it_would_ask_is_told_as_well() -> None:
    asked = asking()
    sql = "SELECT llm('Is {} one?', n) FROM text2sql('Count?')"
    assert "has not been asked" in str(asked.con.explain_llm(sql))
    asked.rows(sql)
    assert asked.con.explain_llm(sql).table.column("rows").to_pylist() == [1]
    assert [key for key, _ in asked.rows(f"EXPLAIN {sql}")] == ["physical_plan", "text2sql", "llm_calls"]
    assert len(asked.pipeline.asked) == 1


def test_questions_of_rows_are_counted() -> None:
    asked = asking()
    sql = "SELECT text2sql_query(name, evidence := 'x', seed := 3) FROM beers"
    told = asked.con.explain_llm(sql)
    assert told.table.select(
        ["function", "rows", "distinct_prompts", "prompt_tokens", "seconds"]
    ).to_pylist() == [
        {
            "function": "text2sql_query",
            "rows": 3,
            "distinct_prompts": 3,
            "prompt_tokens": None,
            "seconds": None,
        }
    ]
    assert "the answers of one stage decide what the next asks" in str(told)
    assert "text2sql_query(name, evidence := 'x', seed := 3)" in asked.rows(f"EXPLAIN {sql}")[0][1]
    assert asked.pipeline.asked == []
