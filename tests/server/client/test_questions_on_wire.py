"""text2sql() over PostgreSQL's protocol: simple and extended, described before it runs."""

from __future__ import annotations

import asyncio

import asyncpg
import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server import database
from relserve.server.users.metered import metered_finder
from relserve.server.users.users import User
from tests.server.client.conftest import Serve, connect
from tests.text2sql.replies import engine_of

COUNT = "SELECT count(*) AS n, max(name) AS last FROM beers"
FILL = "CREATE TABLE beers AS SELECT i AS id, 'beer ' || i AS name FROM range(4) t(i)"
QUESTION = "How many beers?"


def test_simple_and_extended_protocol_give_the_rows(serve: Serve) -> None:
    engine = engine_of({"candidates": COUNT})
    con = connect(serve(engine), autocommit=True)
    con.execute(FILL)
    for cursor in (con.cursor(), con.cursor(binary=True), psycopg.ClientCursor(con)):
        found = cursor.execute(f"SELECT n + 1 AS m, last FROM text2sql('{QUESTION}')")
        assert found.fetchall() == [(5, "beer 3")]
        assert [each.name for each in found.description or ()] == ["m", "last"]
    assert con.execute("SELECT text2sql_query(%s)", (QUESTION,)).fetchall() == [(COUNT,)]
    by_client = psycopg.ClientCursor(con).execute("FROM text2sql(%s, effort := 'quick')", (QUESTION,))
    assert by_client.fetchall() == [(4, "beer 3")]
    with pytest.raises(psycopg.Error, match=r"nothing is known of parameter \$1 here"):
        con.execute("FROM text2sql(%s)", (QUESTION,))
    ((question, sql),) = con.execute("SELECT DISTINCT question, sql FROM llm_workflows()").fetchall()
    assert (question, sql) == (QUESTION, COUNT)


@pytest.mark.long
def test_a_described_question_runs_as_it_was_described(serve: Serve) -> None:
    engine = engine_of({"candidates": COUNT})
    server = serve(engine)

    async def look() -> tuple[list[str], list[tuple[object, ...]]]:
        con = await asyncpg.connect(host="127.0.0.1", port=server.port, user="ann", database="memory")
        await con.execute(FILL)
        prepared = await con.prepare(f"FROM text2sql('{QUESTION}')")
        names = [each.name for each in prepared.get_attributes()]
        return names, [tuple(row) for row in await prepared.fetch()]

    assert asyncio.run(look()) == (["n", "last"], [(4, "beer 3")])
    assert len(engine.submissions) == 1


ENDLESS = (
    "SELECT count(*) AS n FROM range(100000) a, range(100000) b, range(100000) c "
    "WHERE hash(a.range, b.range, c.range) = 1"
)
SOON = f"text2sql('{QUESTION}', effort := 'quick', limits := {{'seconds': 0.2}})"


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "text",
    [
        f"FROM {SOON}", f"CREATE TABLE t AS FROM {SOON}", f"DECLARE c CURSOR FOR FROM {SOON}; FETCH c",
        f"CREATE VIEW v AS FROM {SOON}; FROM v", f"PREPARE p AS FROM {SOON}; EXECUTE p",
        f"COPY (FROM {SOON}) TO STDOUT",
    ],
)  # fmt: skip
def test_a_question_whose_sql_does_not_end_is_ended(serve: Serve, text: str) -> None:
    con = connect(serve(engine_of({"candidates": ENDLESS})), cursor_factory=psycopg.ClientCursor)
    con.execute(FILL)
    con.commit()
    with pytest.raises(psycopg.Error, match=r"ran for 0\.2 seconds; .*limits :=") as caught:  # noqa: PT012
        if text.startswith("COPY"):
            with con.cursor().copy(text) as copy:
                list(copy)
        con.execute(text)
    assert caught.value.sqlstate == "54000"
    con.rollback()
    assert con.execute("SELECT count(*) FROM beers").fetchone() == (4,)


@pytest.mark.long
def test_a_described_question_keeps_its_limits(serve: Serve) -> None:
    con = connect(serve(engine_of({"candidates": ENDLESS})), autocommit=True)
    con.execute(FILL)
    with pytest.raises(psycopg.Error, match=r"ran for 0\.2 seconds"):
        con.execute(f"FROM {SOON}", prepare=True)


def test_what_another_catalog_holds_reaches_no_prompt(serve: Serve) -> None:
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return COUNT

    con = connect(serve(engine_of({"candidates": reply})), autocommit=True)
    con.execute(FILL)
    con.execute(f"FROM text2sql('{QUESTION}', effort := 'quick')")
    (prompt,) = prompts
    assert "beers" in prompt
    assert "pg_" not in prompt


def test_a_question_without_sql_is_an_error_with_its_place(serve: Serve) -> None:
    con = connect(serve(engine_of({"candidates": "I do not know."})), autocommit=True)
    con.execute(FILL)
    with pytest.raises(psycopg.Error, match="stage candidates: the model wrote no SQL") as caught:
        con.execute("SELECT 1 FROM text2sql('Who?')")
    assert "LINE 1: SELECT 1 FROM text2sql('Who?')" in str(caught.value)
    assert con.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.long
def test_a_plain_user_may_ask_the_embedded_default(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    engines = {None: ScriptedEngine(model="tiny"), "tiny-sql": ScriptedEngine(model="tiny-sql")}
    monkeypatch.setattr(
        database, "metered_finder", lambda _, user, quota: metered_finder(engines.get, User("ann"), quota)
    )
    con = connect(serve(), autocommit=True)
    con.execute(FILL)
    with pytest.raises(psycopg.Error, match="stage choice: the model does not"):
        con.execute(f"FROM text2sql('{QUESTION}')")
    assert engines["tiny-sql"].submissions
