"""Questions in SQL through the pipeline itself, on the scripted engine with recorded replies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from questions.recorded_answers import TABLES, asking
from relserve_duckdb import Connection, attach

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError, Text2SqlError, UnsafeSqlError
from relserve.session.session import Session
from tests.text2sql.replies import engine_of

COUNT = "SELECT count(*) AS n FROM beers"
FILL = "CREATE TABLE asked AS SELECT 'How many beers are above ' || i || '?' AS q, i FROM range(100) t(i)"


def made(
    reply: str | Callable[[str], str], cache: AnswerCache | None = None, **options: object
) -> tuple[Connection, ScriptedEngine]:
    engine = engine_of({"candidates": reply, "revision": reply}, **options)
    con = attach(duckdb.connect(), Session(lambda model: engine, cache=cache), progress=False)
    con.execute(TABLES)
    return con, engine


def above(prompt: str) -> str:
    """The SQL of a question about a number."""
    number = prompt.rpartition("above ")[2].partition("?")[0]
    return f"SELECT count(*) AS n FROM beers WHERE abv > {number}"


def test_a_question_becomes_rows_and_is_on_record() -> None:
    con, engine = made(COUNT)
    assert con.execute("SELECT n + 1 FROM text2sql('How many beers?')").fetchall() == [(4,)]
    assert [each.stage for each in engine.submissions] == ["candidates"]
    kept = con.execute("SELECT question, sql, calls, error FROM llm_workflows()").fetchall()
    assert kept == [("How many beers?", COUNT, 3, None)]
    joined = """SELECT s.stage, s.calls, q.distinct_prompts FROM llm_steps() s
        JOIN llm_workflows() USING (workflow_id) JOIN llm_queries() q USING (rel_id)"""
    assert con.execute(joined).fetchall() == [("candidates", 3, 3)]


@pytest.mark.long
def test_a_hundred_questions_are_one_relquery_a_stage() -> None:
    con, engine = made(above)
    con.execute(FILL)
    rows = con.execute("SELECT i, text2sql_query(q, effort := 'quick') FROM asked ORDER BY i").fetchall()
    assert rows == [(i, f"SELECT count(*) AS n FROM beers WHERE abv > {i}") for i in range(100)]
    assert [(each.stage, len(each.prompts)) for each in engine.submissions] == [("candidates", 100)]
    kept = "SELECT count(*), count(DISTINCT workflow_id) FROM llm_workflows()"
    assert con.execute(kept).fetchall() == [(100, 1)]


def test_a_question_that_was_answered_before_is_free(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    con, engine = made(COUNT, cache, identity="a model")
    for _ in range(2):
        assert con.execute("FROM text2sql('How many beers?')").fetchall() == [(3,)]
    assert engine.num_prompts == 3
    assert con.execute("SELECT calls, cached_answers FROM llm_steps()").fetchall() == [(3, 0), (3, 3)]
    cache.close()


def test_sql_that_is_no_select_never_runs() -> None:
    con, _ = made("```sql\nDROP TABLE beers\n```")
    with pytest.raises(Text2SqlError, match="DROP"):
        con.execute("FROM text2sql('How many beers?')")
    assert con.execute("SELECT text2sql_query('How many beers?')").fetchall() == [(None,)]
    assert con.execute("SELECT count(*) FROM beers").fetchall() == [(3,)]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "sql", ["CREATE TABLE made(a INT)", "FROM read_csv('/etc/passwd')", "SELECT 1; SELECT 2"]
)
def test_what_a_pipeline_gives_is_looked_at_once_more(sql: str) -> None:
    asked = asking({"Evil?": sql})
    with pytest.raises(UnsafeSqlError):
        asked.rows("FROM text2sql('Evil?')")
    with pytest.raises(UnsafeSqlError):
        asked.con.text2sql("Evil?")


def test_an_engine_that_dies_ends_the_statement() -> None:
    con, _ = made(COUNT, dies_after=0)
    with pytest.raises(Text2SqlError, match="stage candidates") as caught:
        con.execute("SELECT text2sql_query('How many beers?')")
    assert isinstance(caught.value.__cause__, EngineDeadError)
