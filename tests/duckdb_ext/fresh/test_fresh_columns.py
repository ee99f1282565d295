"""Columns that stay fresh: what is asked when rows change, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import relserve
from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import EngineDeadError, Failure, FailureKind, ForbiddenError, UsageError
from tests.waiting import act_when

KIND = "llm('Kind of {}', message)"


def connected(
    engine: ScriptedEngine, database: str | Path = ":memory:", **options: Any
) -> relserve.Connection:
    return relserve.connect(database, engine=engine, progress=False, **options)


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(echo)


@pytest.fixture
def con(engine: ScriptedEngine) -> Iterator[relserve.Connection]:
    with connected(engine) as con:
        con.execute("CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(5) r(i)")
        yield con


def prompts(engine: ScriptedEngine) -> list[str]:
    """What was asked since the last look."""
    found = sorted(prompt for each in engine.submissions for prompt in each.prompts)
    engine.submissions.clear()
    return found


def kinds(con: relserve.Connection) -> list[tuple[int, str | None]]:
    rows: list[tuple[int, str | None]] = con.execute("SELECT id, kind FROM tickets ORDER BY id").fetchall()
    return rows


def test_one_in_a_hundred_rows_changed_new_and_gone_are_all_that_is_asked(engine: ScriptedEngine) -> None:
    with connected(engine) as con:
        con.execute(
            "CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(10000) r(i)"
        )
        first = relserve.materialize(con, "tickets", "kind", KIND)
        assert (first.rows, first.asked, first.updated_rows) == (10_000, 10_000, 10_000)
        prompts(engine)
        con.execute("UPDATE tickets SET message = 'changed ' || id WHERE id % 100 = 0")
        con.execute("DELETE FROM tickets WHERE id % 100 = 1")
        con.execute("INSERT INTO tickets SELECT i, 'new ' || i, NULL FROM range(10000, 10100) r(i)")
        again = relserve.refresh(con, "tickets", "kind")
        expected = [f"Kind of changed {i}" for i in range(0, 10_000, 100)]
        expected += [f"Kind of new {i}" for i in range(10_000, 10_100)]
        assert prompts(engine) == sorted(expected)
        assert again._asdict() == first._asdict() | {
            "new_inputs": 200, "updated_rows": 200, "dropped_inputs": 200, "asked": 200,
        }  # fmt: skip
        wrong = con.execute("SELECT count(*) FROM tickets WHERE kind IS DISTINCT FROM 'Kind of ' || message")
        assert wrong.fetchall() == [(0,)]
        assert relserve.refresh(con, "tickets", "kind").asked == 0
        assert prompts(engine) == []


def test_sql_makes_and_refreshes_a_column(con: relserve.Connection, engine: ScriptedEngine) -> None:
    made = con.sql(f"CALL llm_materialize('tickets', 'kind', $${KIND}$$)")
    assert made is not None
    assert made.columns == list(relserve.Refreshed._fields)
    con.execute("INSERT INTO tickets VALUES (9, 'late', NULL)")
    prompts(engine)
    for call in ("CALL llm_refresh(?, ?)", "call LLM_REFRESH($1, $2);", "-- so\nCALL llm_refresh(?, ?)"):
        con.execute(call, ["main.tickets", "KIND"]).fetchall()
    con.execute("SELECT 1; CALL llm_refresh('tickets', 'kind'); SELECT 2")
    assert prompts(engine) == ["Kind of late"]
    assert kinds(con)[-1] == (9, "Kind of late")


def test_a_changed_row_never_shows_the_answer_of_its_former_inputs(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    relserve.materialize(con, "tickets", "kind", KIND)
    prompts(engine)
    con.execute("UPDATE tickets SET message = CASE id WHEN 0 THEN 'message 1' END WHERE id IN (0, 2)")
    assert relserve.refresh(con, "tickets", "kind").asked == 0
    assert kinds(con)[:3] == [(0, "Kind of message 1"), (1, "Kind of message 1"), (2, None)]


def test_failed_rows_are_asked_again(con: relserve.Connection, engine: ScriptedEngine) -> None:
    def fails(prompt: str, submission: Submission) -> str | Failure:
        return Failure(FailureKind.REFUSED, "no") if prompt.endswith("3") else prompt

    engine.script = fails
    first = relserve.materialize(con, "tickets", "kind", KIND)
    assert (first.failed_rows, kinds(con)[3]) == (1, (3, None))
    prompts(engine)
    engine.script = echo
    assert relserve.refresh(con, "tickets", "kind").failed_rows == 0
    assert (prompts(engine), kinds(con)[3]) == (["Kind of message 3"], (3, "Kind of message 3"))


def test_an_answer_of_null_is_kept_where_nothing_failed(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    relserve.materialize(con, "tickets", "kind", f"nullif({KIND}, 'Kind of message 3')")
    prompts(engine)
    assert relserve.refresh(con, "tickets", "kind").new_inputs == 0


def test_the_state_stays_in_the_database_file(tmp_path: Path, engine: ScriptedEngine) -> None:
    with connected(engine, tmp_path / "shop.db") as con:
        con.execute("CREATE TABLE tickets AS SELECT 1 AS id, 'a' AS message")
        relserve.materialize(con, "tickets", "kind", KIND)
    with connected(engine, tmp_path / "shop.db") as con:
        prompts(engine)
        con.execute("INSERT INTO tickets VALUES (2, 'b', NULL)")
        relserve.refresh(con, "tickets", "kind")
        assert prompts(engine) == ["Kind of b"]
        found = con.execute("SELECT table_name, column_name, expression, inputs FROM relserve.fresh_columns")
        assert found.fetchall() == [("tickets", "kind", KIND, ["message"])]


def test_a_table_that_is_made_anew_takes_the_answers_that_it_had(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    relserve.materialize(con, "tickets", "kind", KIND)
    prompts(engine)
    con.execute(
        "CREATE OR REPLACE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(6) r(i)"
    )
    assert relserve.refresh(con, "tickets", "kind").asked == 1
    assert prompts(engine) == ["Kind of message 5"]
    assert kinds(con) == [(i, f"Kind of message {i}") for i in range(6)]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("llm_tags('Tags of {}', message, choices := ['a', 'b'])", list),
        ('llm_extract(\'{}\', message, schema := \'{"word": "VARCHAR", "n": "INTEGER"}\')', dict),
        ("upper(llm('Kind of {message} of {id}', message, id))", str),
        ("CASE WHEN id > 2 THEN llm('{}', message) ELSE llm('{a}', {a: message}) END", str),
        ("llm('{message}', tickets)", str),
    ],
)
def test_answers_of_every_type_in_a_table_with_a_key(
    con: relserve.Connection, engine: ScriptedEngine, expression: str, answer: type
) -> None:
    engine.script = ScriptedEngine().script if answer is not str else echo
    con.execute("ALTER TABLE tickets ADD PRIMARY KEY (id)")
    con.execute("CREATE INDEX by_message ON tickets (message)")
    relserve.materialize(con, "tickets", "kind", expression)
    con.execute("INSERT INTO tickets (id, message) VALUES (7, 'x')")
    assert relserve.refresh(con, "tickets", "kind").asked == 1
    assert all(isinstance(kind, answer) for _, kind in kinds(con))


def test_in_a_transaction_of_the_callers_it_is_the_callers_to_commit(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    con.begin()
    relserve.materialize(con, "tickets", "kind", KIND)
    assert len(kinds(con)) == 5
    con.rollback()
    assert con.table("tickets").columns == ["id", "message"]
    with pytest.raises(UsageError, match="nothing is remembered"):
        relserve.refresh(con, "tickets", "kind")


def test_a_dead_engine_changes_nothing_and_loses_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    dies = ScriptedEngine(echo, identity="one", dies_after=300, chunk=50)
    made = "CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(1000) r(i)"
    with connected(dies, tmp_path / "t.db") as con:
        con.execute(made)
        with pytest.raises(EngineDeadError):
            relserve.materialize(con, "tickets", "kind", KIND)
        assert con.table("tickets").columns == ["id", "message"]
    engine = ScriptedEngine(echo, identity="one")
    with connected(engine, tmp_path / "t.db") as con:
        done = relserve.materialize(con, "tickets", "kind", KIND)
        assert (done.asked, done.cached_answers, engine.num_prompts) == (700, 300, 700)


class StoppingEngine(ScriptedEngine):
    """Answers 300 prompts, and the others only once it may go on."""

    goes_on = False

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        async for replies in super().answer(submission):
            yield replies
            if self.num_answered >= 300 and not self.goes_on:
                await asyncio.Event().wait()


def test_an_interrupt_loses_no_finished_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    engine = StoppingEngine(echo, identity="one", chunk=50)
    with connected(engine) as con:
        con.execute(
            "CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(1000) r(i)"
        )
        act_when(lambda: any(each.num_done == 300 for each in con.session.history.queries()), con.interrupt)
        with pytest.raises(duckdb.InterruptException):
            relserve.materialize(con, "tickets", "kind", KIND)
        engine.goes_on = True
        done = relserve.materialize(con, "tickets", "kind", KIND)
        assert (done.cached_answers, done.asked) == (300, 700)


def test_rows_beyond_a_cap_are_asked_by_the_next_refresh(engine: ScriptedEngine) -> None:
    with connected(engine) as con:
        con.execute("CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(20) r(i)")
        with pytest.raises(relserve.errors.SpendingError, match="would ask about 20 rows"):
            relserve.materialize(con, "tickets", "kind", "llm('Kind of {}', message, max_rows := 15)")
        assert engine.num_prompts == 0


def test_equal_inputs_in_all_rows_are_asked_once(con: relserve.Connection, engine: ScriptedEngine) -> None:
    con.execute("UPDATE tickets SET message = 'the same'")
    relserve.materialize(con, "tickets", "kind", KIND)
    assert relserve.refresh(con, "tickets", "kind").asked == 0
    assert prompts(engine) == ["Kind of the same"]


def test_odd_names_and_other_databases(con: relserve.Connection, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'o.db'}' AS \"o's\"")
    con.execute("""CREATE SCHEMA "o's"."a b"; CREATE TABLE "o's"."a b"."T ""x" AS SELECT 'y' AS "select" """)
    relserve.materialize(con, """"o's"."a b"."T ""x\"""", "the 'kind\"", """llm('{}', "select")""")
    assert con.execute("""FROM "o's"."a b"."T ""x" """).fetchall() == [("y", "y")]
    assert con.execute("""SELECT table_name FROM "o's".relserve.fresh_columns""").fetchall() == [('T "x',)]


@pytest.mark.long
def test_columns_whose_names_have_dots_do_not_share_answers(con: relserve.Connection) -> None:
    con.execute("""CREATE TABLE a AS SELECT 'x' AS t; CREATE TABLE "a.b" AS FROM a""")
    relserve.materialize(con, "a", "b.c", "llm('First of {}', t)")
    relserve.materialize(con, '"a.b"', "c", "llm('Second of {}', t)")
    relserve.refresh(con, "a", "b.c")
    assert con.execute("""FROM a, "a.b" """).fetchall() == [("x", "First of x", "x", "Second of x")]


def test_a_database_for_reading_only_is_refused_before_anything_is_asked(
    engine: ScriptedEngine, tmp_path: Path
) -> None:
    with duckdb.connect(tmp_path / "r.db") as raw:
        raw.execute("CREATE TABLE tickets AS SELECT 'a' AS message")
    with connected(engine, tmp_path / "r.db", read_only=True) as con:
        with pytest.raises(UsageError, match="tickets is in a database open for reading only"):
            relserve.materialize(con, "tickets", "kind", KIND)
    assert engine.num_prompts == 0


def test_where_a_server_runs_the_statement_it_is_refused(con: relserve.Connection) -> None:
    con.session.keeps_calibrations = False
    with pytest.raises(ForbiddenError, match="whoever runs it refreshes them"):
        relserve.materialize(con, "tickets", "kind", KIND)


def test_columns_may_have_the_names_that_relserve_uses(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    con.execute(
        """CREATE TABLE t AS SELECT 'a' AS inputs, 'b' AS answer, 'c' AS id, 'd' AS "hash", 'e' AS "new" """
    )
    relserve.materialize(con, "t", "former", """llm('{} {} {} {} {}', inputs, answer, id, hash, "new")""")
    con.execute(
        "INSERT INTO t BY NAME SELECT 'f' AS inputs, 'g' AS answer, 'h' AS id, 'i' AS hash, 'j' AS new"
    )
    assert relserve.refresh(con, "t", "former").asked == 1
    assert con.execute("SELECT former FROM t ORDER BY 1").fetchall() == [("a b c d e",), ("f g h i j",)]


def test_a_column_with_the_name_of_the_hash_is_refused(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE odd AS SELECT 'a' AS Relserve_Inputs")
    with pytest.raises(UsageError, match="rename this column of odd"):
        relserve.materialize(con, "odd", "kind", "llm('Kind of {}', Relserve_Inputs)")
