"""The shipped tables and every example query, on the scripted engine and on the embedded model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from relserve.api import Connection, connect
from relserve.cli import demo
from relserve.engines.local.engine import LocalEngine
from relserve.engines.scripted import ScriptedEngine

FOLDER = Path(__file__).parents[2] / "sql_examples"
# On a real engine it takes 20 s of a core: joins of pairs, which duckdb_ext/test_meaning_tiny.py has there.
OF_PAIRS = "06_films_of_sembench"
FILES = sorted(set(FOLDER.glob("*.sql")) - {FOLDER / "05_text2sql.sql"})  # which has a test of its own


@pytest.fixture
def scripted() -> Iterator[Connection]:
    with connect(engine=ScriptedEngine(max_prompt_chars=100_000), progress=False) as opened:
        yield opened


@pytest.fixture
def tiny(local_engine: LocalEngine) -> Iterator[Connection]:
    with connect(engine=local_engine, progress=False) as opened:
        yield opened


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_example_files_run(scripted: Connection, file: Path) -> None:
    check(scripted, file)


@pytest.mark.vllm
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=() if file.stem == "01_first_steps" else pytest.mark.long)
        for file in FILES
        if file.stem != OF_PAIRS
    ],
    ids=lambda f: f.stem,
)
def test_example_files_run_on_the_embedded_model(tiny: Connection, file: Path) -> None:
    check(tiny, file)


def check(con: Connection, file: Path) -> None:
    """Every query of a file gives rows, and none of them failed."""
    demo.prepare(con)
    found = list(demo.queries(file.read_text(encoding="utf-8")))
    assert len(found) >= 4
    for query in found:
        rows = con.execute(query.sql).fetchall()
        assert rows or "CREATE" in query.sql, query.title
    failed = con.execute("SELECT count(*) FROM llm_errors() WHERE kind <> 'over_context'").fetchall()
    assert failed == [(0,)]


@pytest.mark.vllm
def test_demo_queries_run_on_the_embedded_model(tiny: Connection) -> None:
    check_demo(tiny)


def test_demo_queries_run(scripted: Connection) -> None:
    check_demo(scripted)


def check_demo(con: Connection) -> None:
    """The demo's queries give rows, and each of their calls is on record."""
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
