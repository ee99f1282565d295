"""What a guest's cursor gives is what `relserve.connect` gives, and nobody sees another's rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from guests import Guest
from relserve_duckdb import Connection
from sql_fixtures import Made, make, make_tables

import relserve
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import Failure, FailureKind
from relserve.session.session import Session

SCRIPTS = (
    ("SELECT llm('x {}', id), llm_filter('{}?', body) FROM p WHERE id < 9 ORDER BY id",),
    ("SELECT g, llm_agg('s {}', body ORDER BY id DESC) FROM p WHERE id < 90 GROUP BY g ORDER BY g",),
    ("SELECT g, llm_agg('s {}', title) FILTER (WHERE id > 20) FROM p WHERE id < 90 GROUP BY g ORDER BY g",),
    ("SELECT llm_agg(DISTINCT 's {}', title) AS s FROM p WHERE id < 90",),
    ("SELECT id, llm_agg('s {}', g) OVER (ORDER BY id ROWS 2 PRECEDING) FROM p WHERE id < 9 ORDER BY id",),
    ("EXPLAIN SELECT llm('x {}', body) FROM p WHERE llm_filter('{}?', title)",),
    ("EXPLAIN ANALYZE SELECT llm('x {}', body) FROM p WHERE id < 0", "SELECT llm('x {}', 1)"),
    ("PREPARE q AS SELECT llm('x {}', id) FROM p WHERE id < $1 ORDER BY id", "EXECUTE q(3)", "EXECUTE q(5)"),
    ("PREPARE q AS SELECT llm($1, id) FROM p WHERE id < 3 ORDER BY id", "EXECUTE q('of {}')"),
    ("PREPARE q AS SELECT llm_agg('s {}', id ORDER BY id) FILTER (WHERE id < $1) FROM u", "EXECUTE q(9)"),
    ("CREATE TEMP TABLE mine AS SELECT id, llm('x {}', id) AS y FROM u", "FROM mine ORDER BY id"),
    ("CREATE TEMP VIEW mine AS SELECT id, llm('x {}', id) AS y FROM u", "SELECT y FROM mine ORDER BY id"),
    ("CREATE TEMP MACRO mine(a) AS llm('m {}', a)", "SELECT mine(id) FROM u ORDER BY id LIMIT 3"),
    ("SELECT y FROM vv ORDER BY id", "SELECT rate(id) FROM u ORDER BY id LIMIT 3"),
    ("DESCRIBE SELECT llm('x {}', id) FROM p", "SUMMARIZE SELECT llm('x {}', id) AS y FROM u"),
    ("SELECT llm('x {}', id) FROM p WHERE id < 3; SELECT llm('y {}', id) FROM p WHERE id < 2 ORDER BY id",),
    ("BEGIN", "UPDATE z SET body = llm('z {}', id) WHERE id < 3", "SELECT body FROM z ORDER BY id LIMIT 4"),
)  # fmt: skip


@pytest.fixture
def theirs() -> Iterator[Any]:
    """What a Python program has."""
    with relserve.connect(engine=ScriptedEngine(script=echo), progress=False) as con:
        make_tables(con)
        yield con


@pytest.fixture(scope="module")
def world() -> Iterator[Made]:
    made = make(script=echo, macro=True)
    yield made
    made.con.close()


@pytest.mark.cells(3)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script[0])
def test_rows_are_those_of_connect(theirs: Any, world: Made, script: tuple[str, ...]) -> None:
    engine = ScriptedEngine(script=echo)
    asked = world.asked
    with world.con.cursor_for(Session(lambda model: engine), Guest()) as guest:
        for text in script:
            assert _rows(guest, text) == _rows(theirs, text)
    assert world.asked == asked


def _rows(con: Connection, text: str) -> list[tuple[Any, ...]]:
    rows = con.execute(text).fetchall()
    if "ANALYZE" in text:  # times differ
        return [(len(rows),)]
    return list(rows)


def test_guests_that_ask_at_once_see_their_own_queries_and_errors(world: Made) -> None:
    seen: dict[str, list[Any]] = {}

    def ask(name: str) -> None:
        def script(prompt: str, submission: Submission) -> str | Failure:
            return Failure(FailureKind.REFUSED, f"not {name}") if prompt.endswith("7") else name

        engine = ScriptedEngine(script=script)
        with world.con.cursor_for(Session(lambda model: engine), Guest()) as con:
            for i in range(5):
                text = f"SELECT llm('{name} {i} {{}}', id) FROM p WHERE id < 500"
                answers = {row[0] for row in con.execute(text).fetchall()}
                queries = con.execute("SELECT template, failed_rows FROM llm_queries()").fetchall()
                errors = con.execute("SELECT DISTINCT message, prompt FROM llm_errors()").fetchall()
                seen[name] = [answers, queries, errors]

    names = ("ann", "bob", "eve")
    threads = [threading.Thread(target=ask, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in names:
        answers, queries, errors = seen[name]
        assert answers == {name, None}
        assert queries == [(f"{name} {i} {{}}", 50) for i in range(5)]
        assert len(errors) == 250
        assert all(name in message and prompt.startswith(name) for message, prompt in errors)
