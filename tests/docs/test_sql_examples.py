"""The shipped tables and every example query, on the scripted engine and on the embedded model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from relserve.api import Connection, connect
from relserve.cli import demo
from relserve.engines.scripted import ScriptedEngine

FOLDER = Path(__file__).parents[2] / "sql_examples"
FILES = sorted(set(FOLDER.glob("*.sql")) - {FOLDER / "05_text2sql.sql"})  # which has a test of its own


@pytest.fixture(params=["scripted", pytest.param("tiny", marks=pytest.mark.vllm)])
def con(request: pytest.FixtureRequest) -> Iterator[Connection]:
    if request.param == "scripted":
        opened = connect(engine=ScriptedEngine(max_prompt_chars=100_000), progress=False)
    else:
        opened = connect(engine=request.getfixturevalue("local_engine"), progress=False)
    yield opened
    opened.close()


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_example_files_run(con: Connection, file: Path) -> None:
    demo.prepare(con)
    found = list(demo.queries(file.read_text(encoding="utf-8")))
    assert len(found) >= 4
    for query in found:
        rows = con.execute(query.sql).fetchall()
        assert rows or "CREATE" in query.sql, query.title
    failed = con.execute("SELECT count(*) FROM llm_errors() WHERE kind <> 'over_context'").fetchall()
    assert failed == [(0,)]


def test_demo_queries_run(con: Connection) -> None:
    found = demo.prepare(con)
    assert len(found) >= 5
    for query in found:
        rows = con.execute(query.sql).fetchall()
        assert rows or "WHERE llm_filter" in query.sql, query.title
    stats = con.execute(demo.STATS).fetchall()
    assert len(stats) == sum(q.sql.count("llm") > 0 for q in found)


def test_the_shipped_tables_have_what_real_tables_have() -> None:
    con = connect(model="scripted", progress=False)
    demo.prepare(con)
    query = """SELECT count(*) FILTER (review IS NULL), count(*) FILTER (review = ''),
               count(DISTINCT review), count(*) FROM reviews"""
    nulls, empty, distinct, rows = con.execute(query).fetchall()[0]
    assert nulls > 0
    assert empty > 0
    assert distinct < rows - nulls
