"""The pipeline over a DuckDB connection: its catalog, its values, its guard."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from relserve.errors import UnsafeSqlError, UsageError
from relserve.text2sql.catalog.texts import ColumnTexts
from relserve.text2sql.duckdb_database import DuckDBDatabase, answer
from relserve.text2sql.guard.limits import StatementLimits
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.retrieval import library
from tests.text2sql.databases import FILL
from tests.text2sql.replies import engine_of, fenced, session_of
from tests.waiting import wait_until, with_time_enough

QUESTION = "How many beers are IPA?"
COUNT = "SELECT count(*) FROM beers WHERE style = 'IPA'"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(FILL + "CREATE TABLE secrets AS SELECT 'hush' AS word")
        yield con


def test_a_question_is_answered_over_a_connection(con: duckdb.DuckDBPyConnection) -> None:
    engine = engine_of({"candidates": fenced(COUNT)})
    (outcome,) = answer([QUESTION], con, session_of(engine), Text2SqlOptions())
    assert outcome.failure is None
    assert con.sql(str(outcome.sql)).fetchall() == [(2,)]
    prompt = engine.submissions[0].prompts[0]
    assert "CREATE TABLE beers (" in prompt
    assert 'beers.style = "IPA"' in prompt


def test_a_value_that_is_spelt_otherwise_is_found(con: duckdb.DuckDBPyConnection) -> None:
    engine = engine_of({"candidates": fenced(COUNT)})
    answer(["How many 'Stoutt' are there?"], con, session_of(engine), Text2SqlOptions())
    assert 'beers.style = "Stout"' in engine.submissions[0].prompts[0]


def test_tables_that_were_not_named_are_neither_shown_nor_read(con: duckdb.DuckDBPyConnection) -> None:
    engine = engine_of({"candidates": fenced("SELECT word FROM secrets"), "revision": fenced(COUNT)})
    options = Text2SqlOptions(tables=("beers",))
    (outcome,) = answer([QUESTION], con, session_of(engine), options)
    assert outcome.sql == COUNT
    assert "secrets" not in engine.submissions[0].prompts[0]
    assert "hush" not in "".join(prompt for s in engine.submissions for prompt in s.prompts)


@pytest.mark.cells(1)
@pytest.mark.parametrize("sql", ["DROP TABLE beers", "SELECT 1; DELETE FROM beers", "FROM read_csv('/x')"])
def test_what_is_no_plain_select_is_refused(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    database = DuckDBDatabase(con, Text2SqlOptions())
    for run in (database.explain, database.rows):
        with pytest.raises(UnsafeSqlError):
            run(sql)
    engine = engine_of({"candidates": fenced(sql), "revision": fenced(sql)})
    (outcome,) = answer([QUESTION], con, session_of(engine), Text2SqlOptions(effort="quick"))
    assert outcome.failure is not None
    assert outcome.failure.stage == "revision"
    assert con.sql("SELECT count(*) FROM beers").fetchall() == [(3,)]


def test_a_long_result_is_cut(con: duckdb.DuckDBPyConnection) -> None:
    database = DuckDBDatabase(con, Text2SqlOptions(), StatementLimits(rows=2))
    first = database.rows("FROM beers")
    assert (first.table.num_rows, first.is_cut) == (2, True)
    assert not database.rows("FROM beers LIMIT 2").is_cut
    assert database.explain("SELECT abv AS strength FROM beers") == [("strength", "DOUBLE")]


def test_the_users_examples_are_ranked_by_likeness(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        CREATE SCHEMA notes;
        CREATE TABLE notes."my examples" (sql VARCHAR, question VARCHAR);
        INSERT INTO notes."my examples" VALUES
            ('SELECT 1', 'Which brewery is in Oslo?'), ('SELECT 2', 'How many beers are stouts?'),
            (NULL, 'IPA')
    """)
    database = DuckDBDatabase(con, Text2SqlOptions(examples='notes."my examples"'))
    assert database.golden(QUESTION, 5) == [
        ("How many beers are stouts?", "SELECT 2"), ("Which brewery is in Oslo?", "SELECT 1"),
    ]  # fmt: skip
    assert DuckDBDatabase(con, Text2SqlOptions()).golden(QUESTION, 5) == ()


@pytest.mark.cells(1)
@pytest.mark.parametrize("table", ["nowhere", "beers"])
def test_a_table_that_holds_no_examples_is_said(con: duckdb.DuckDBPyConnection, table: str) -> None:
    with pytest.raises(UsageError, match="must name a table with the columns question and sql"):
        answer([QUESTION], con, session_of(engine_of({})), Text2SqlOptions(examples=table))


def test_a_model_that_points_answers_over_a_connection(con: duckdb.DuckDBPyConnection) -> None:
    def right(prompt: str) -> str:
        (table,) = re.findall(r"beer \+s (t\d+) :", prompt)
        (style,) = re.findall(r"style (c\d+) text", prompt)
        return f"select count ( * ) from {table} where {style} = v0"

    engine = engine_of({"candidates": right}, model="tiny-sql")
    (outcome,) = answer([QUESTION], con, session_of(engine), Text2SqlOptions(tables=("beers", "breweries")))
    assert outcome.failure is None
    assert con.sql(str(outcome.sql)).fetchall() == [(2,)]


def test_the_table_of_examples_is_no_table_to_ask_unless_it_is_named(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE kept AS SELECT 'How many?' AS question, 'SELECT 1' AS sql")

    def names(options: Text2SqlOptions) -> set[str]:
        return {table.name for table in DuckDBDatabase(con, options).schema().tables}

    everything = names(Text2SqlOptions())
    assert "kept" in everything
    assert names(Text2SqlOptions(examples="kept")) == everything - {"kept"}
    assert names(Text2SqlOptions(examples="kept", tables=("kept",))) == {"kept"}


def test_the_deadline_holds_while_values_are_read(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = library.distinct_texts

    def endless(*asked: Any) -> Iterator[ColumnTexts]:
        yield from reading(*asked)
        wait_until(asked[-1].is_set)

    monkeypatch.setattr(library, "distinct_texts", endless)

    def ask(seconds: float) -> str:
        options = Text2SqlOptions(deadline_s=seconds)
        (outcome,) = answer(["How many beers are there?"], con, session_of(engine_of({})), options)
        return str(outcome.failure)

    told = with_time_enough(ask, lambda told: "retrieval" in told)
    assert re.match(r"text2sql, stage retrieval: the deadline of \d+ seconds passed", told)
