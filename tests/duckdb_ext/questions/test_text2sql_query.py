"""text2sql_query(): the questions of a statement are asked together, whatever the statement looks like."""

from __future__ import annotations

from typing import Any

import pytest
from questions.recorded_answers import ANSWERS, Asking, asking

import relserve
from relserve.errors import OptionError, RowsFailedWarning, Text2SqlError, UsageError

N, TEXTS = ANSWERS["Count?"], ANSWERS["Strings?"]
FILL = """
CREATE TABLE asked AS SELECT i AS id, CASE i % 4 WHEN 0 THEN 'Count?' WHEN 1 THEN 'Strings?'
    WHEN 2 THEN NULL ELSE 'Who?' END AS q, 'hint ' || i % 2 AS hint FROM range(100) t(i);
"""
ALL = ["Count?", "Strings?", "Who?"]
BOTH = ["Count?", "Strings?"]

CASES: list[tuple[str, list[tuple[Any, ...]], list[list[str]]]] = [
    ("SELECT text2sql_query('Count?')", [(N,)], [["Count?"]]),
    ("SELECT text2sql_query(question := 'Count?', effort := 'quick')", [(N,)], [["Count?"]]),
    (
        "SELECT id, text2sql_query(q) FROM asked WHERE id < 3 ORDER BY id",
        [(0, N), (1, TEXTS), (2, None)],
        [BOTH],
    ),
    (
        "SELECT count(text2sql_query(q)), count(*) FROM asked WHERE id % 4 <> 3",
        [(50, 75)],
        [BOTH],
    ),
    ("SELECT id FROM asked WHERE text2sql_query(q) LIKE '%count%' ORDER BY id LIMIT 2", [(0,), (4,)], [ALL]),
    (
        "SELECT text2sql_query(q, seed := 1) IS NULL, text2sql_query(q, seed := 2) FROM asked WHERE id = 1",
        [(False, TEXTS)],
        [["Strings?"], ["Strings?"]],
    ),
    (
        "SELECT llm('{}', text2sql_query(q)) = text2sql_query(q) FROM asked WHERE id < 1",
        [(True,)],
        [["Count?"]],
    ),
    ("WITH a AS (SELECT text2sql_query(q) AS s FROM asked) SELECT count(DISTINCT s) FROM a", [(2,)], [ALL]),
    ("FROM text2sql('Count?') SELECT n, text2sql_query('Strings?')", [(3, TEXTS)], [BOTH[:1], BOTH[1:]]),
    ("SELECT text2sql_query(q) FROM asked WHERE false", [], []),
]  # fmt: skip


def made(**options: Any) -> Asking:
    asked = asking(script=lambda prompt, submission: prompt, **options)
    asked.con.execute(FILL)
    return asked


@pytest.mark.cells(2)
@pytest.mark.parametrize(("sql", "rows", "questions"), CASES, ids=[sql for sql, *_ in CASES])
def test_every_distinct_question_is_asked_once_and_all_together(
    sql: str, rows: list[tuple[Any, ...]], questions: list[list[str]]
) -> None:
    asked = made()
    assert asked.rows(sql) == rows
    assert [sorted(each) for each, _ in asked.pipeline.asked] == [sorted(each) for each in questions]
    relation = asked.con.sql(sql)
    assert relation is not None
    assert relation.fetchall() == rows


@pytest.mark.cells(2)
@pytest.mark.parametrize("sql", [sql for sql, *_ in CASES])
def test_without_prefetch_the_rows_are_the_same(sql: str) -> None:
    assert sorted(made(prefetch=False).rows(sql), key=str) == sorted(made().rows(sql), key=str)


def test_options_and_evidence_of_each_row_reach_the_pipeline() -> None:
    asked = made()
    asked.rows(
        "SELECT text2sql_query(q, evidence := hint, tables := ['beers'], deadline := INTERVAL 2 MINUTE, "
        "seed := 3, candidates := 2) FROM asked WHERE id IN (0, 5, 9) ORDER BY id"
    )
    (((questions, options),), (evidence,)) = asked.pipeline.asked, asked.pipeline.evidence
    assert sorted(zip(questions, evidence or (), strict=True)) == [
        ("Count?", "hint 0"),
        ("Strings?", "hint 1"),
    ]
    assert (options.tables, options.deadline_s, options.seed, options.candidates) == (("beers",), 120, 3, 2)


def test_a_question_and_its_evidence_are_not_taken_for_another_question() -> None:
    asked = asking()
    rows = """SELECT count(text2sql_query(q, evidence := e))
        FROM (VALUES ('Count?', 'b'), (E'Count?\\nb', NULL)) t(q, e)"""
    with pytest.warns(RowsFailedWarning, match="1 without SQL"):
        assert asked.rows(rows) == [(1,)]
    assert sorted(asked.pipeline.asked[0][0]) == ["Count?", "Count?\nb"]


def test_a_question_without_sql_is_null_and_on_record() -> None:
    asked = made()
    with pytest.warns(RowsFailedWarning, match="25 of 100 rows failed and are NULL: 25 without SQL"):
        assert asked.rows("SELECT count(text2sql_query(q)) FROM asked") == [(50,)]
    ((function, kind, rows, prompt, message),) = asked.rows(
        "SELECT function, kind, rows, prompt, message FROM llm_errors()"
    )
    assert (function, kind, rows, prompt) == ("text2sql_query", "no_sql", 25, "Who?")
    assert message.startswith("text2sql, stage candidates: no table fits")
    kept = asked.rows(
        "SELECT function, rows, null_rows, distinct_prompts, failed_rows, state FROM llm_queries()"
    )
    assert kept == [("text2sql_query", 100, 25, 3, 25, "done")]


def test_a_question_whose_deadline_has_passed_is_of_that_kind() -> None:
    con = relserve.connect(model="scripted", progress=False)
    con.execute("CREATE TABLE beers AS SELECT i AS id FROM range(9) t(i)")
    with pytest.warns(RowsFailedWarning, match="1 of 1 rows failed and is NULL: 1 past the deadline"):
        assert con.execute("SELECT text2sql_query('How many?', deadline := '1 ms')").fetchall() == [(None,)]
    ((kind, message),) = con.execute("SELECT kind, message FROM llm_errors()").fetchall()
    assert kind == "deadline"
    assert "the deadline of 0.001 seconds passed" in message


def test_on_error_raise_ends_the_statement() -> None:
    with pytest.raises(Text2SqlError, match="no table fits") as caught:
        made().rows("SELECT text2sql_query(q, on_error := 'raise') FROM asked")
    assert "question: 'Who?'" in str(caught.value)
    assert caught.value.stage == "candidates"


def test_questions_see_temporary_tables_and_the_schema_in_use() -> None:
    asked = asking(
        {"How many?": "SELECT count(*) FROM made", "How many others?": "SELECT count(*) FROM others"}
    )
    asked.con.execute("CREATE TEMP TABLE made(a INT)")
    assert asked.rows("SELECT text2sql_query('How many?')") == [("SELECT count(*) FROM made",)]
    asked = asking({"How many others?": "SELECT count(*) FROM others"}, prefetch=False)
    asked.con.execute("CREATE SCHEMA s; CREATE TABLE s.others(a INT); USE s")
    assert asked.rows("SELECT text2sql_query('How many others?')") == [("SELECT count(*) FROM others",)]


REFUSED = [
    ("SELECT text2sql_query('a', 'b')", UsageError, "one question a row"),
    ("SELECT text2sql_query()", UsageError, "one question a row"),
    ("SELECT text2sql_query(q, modle := 'x') FROM asked", OptionError, "Did you mean model"),
    ("SELECT text2sql_query(q, effort := 'much') FROM asked", OptionError, "'quick', 'standard', 'thorough'"),
    ("SELECT text2sql_query(q, seed := id) FROM asked", OptionError, "must be the same for all rows"),
    ("SELECT text2sql_query(id) FROM asked", UsageError, "questions that are text"),
]


@pytest.mark.parametrize(("sql", "kind", "message"), REFUSED, ids=[sql for sql, *_ in REFUSED])
def test_a_wrong_query_call_is_refused(sql: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        made().rows(sql)
