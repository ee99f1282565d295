"""A text of several statements gives what DuckDB gives: each runs once and to its end, one has the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import pytest
from sql_fixtures import Made, make

from relserve.engines.scripted import echo


@pytest.fixture
def world() -> Iterator[Made]:
    made = make(tables=False, script=echo)
    _tables(made.con)
    yield made
    made.con.close()


@pytest.fixture
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE MACRO llm(template, a) AS replace(template, '{}', a::VARCHAR)")
        _tables(con)
        yield con


def _tables(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i FROM range(3) r(i)")


SELECT = "SELECT i, llm('a {}', i) AS said FROM t"
TEXTS = [
    f"{SELECT}; {SELECT.replace('a ', 'b ')}",
    f"BEGIN; {SELECT}; COMMIT",
    f"{SELECT}; CHECKPOINT; SET threads = 2",
    f"{SELECT}; SET threads = 2; USE memory; ANALYZE",
    f"{SELECT}; CREATE VIEW v AS SELECT 1; ATTACH ':memory:' AS b; PREPARE p AS SELECT 1; DEALLOCATE p",
    f"{SELECT}; CREATE TABLE b AS {SELECT}; INSERT INTO b {SELECT}; DELETE FROM b WHERE i = 1",
    f"{SELECT}; INSERT INTO t VALUES (7) RETURNING llm('c {{}}', i) AS said; DROP TABLE t",
    f"CREATE TABLE b AS {SELECT}; INSERT INTO b {SELECT}",
    "SELECT 5 AS five; INSERT INTO t SELECT llm('{}', i)::INT FROM t; FROM t",
    f"PREPARE p AS {SELECT}; EXECUTE p; DEALLOCATE p",
    f"CREATE VIEW v AS {SELECT}; CREATE TABLE b AS SELECT v.i FROM t AS v; CREATE TABLE d AS FROM b",
    f"{SELECT} WHERE false; BEGIN; ROLLBACK",
    "CREATE MACRO m(x) AS llm('m {}', x); SELECT m(i) FROM t; DROP MACRO m",
]  # fmt: skip


@pytest.mark.cells(4)
@pytest.mark.parametrize("text", TEXTS)
def test_the_result_is_that_of_duckdb(world: Made, plain: duckdb.DuckDBPyConnection, text: str) -> None:
    for con in (world.con, plain):
        con.execute(text)
    assert [column[:2] for column in world.con.description] == [column[:2] for column in plain.description]
    assert world.con.fetchone() == plain.fetchone()
    assert world.con.fetchall() == plain.fetchall()


@pytest.mark.cells(3)
@pytest.mark.parametrize("text", TEXTS)
def test_a_relation_of_several_statements_is_that_of_duckdb(
    world: Made, plain: duckdb.DuckDBPyConnection, text: str
) -> None:
    ours, theirs = world.con.sql(text), plain.sql(text)
    assert ours is not None
    assert (ours.columns, ours.fetchall()) == (theirs.columns, theirs.fetchall())
    assert world.con.sql("SELECT 1").fetchall() == [(1,)]


def test_statements_before_the_last_one_run_to_their_end_and_are_prefetched(world: Made) -> None:
    world.con.execute(
        "SELECT llm('a {}', i) FROM range(5000) t(i); SELECT llm('b {}', i) FROM range(5000) t(i)"
    )
    assert world.asked == (10_000, 2)


def test_statements_before_the_last_one_see_the_variables_of_the_caller(world: Made) -> None:
    frame = pd.DataFrame({"a": ["x"]})
    rows = world.con.execute("SELECT llm('{}', a) FROM frame; SET threads = 2").fetchall()
    assert (rows, len(frame)) == ([("x",)], 1)


def test_each_statement_of_a_text_runs_once(world: Made) -> None:
    seen: list[int] = []
    world.con.create_function("note", lambda i: seen.append(i) or i, ["BIGINT"], "BIGINT", side_effects=True)
    world.con.execute("SELECT note(i) FROM t; SELECT note(i + 10) FROM t; SELECT llm('{}', 1)").fetchall()
    assert sorted(seen) == [0, 1, 2, 10, 11, 12]


def test_an_aborted_transaction_is_ended_by_a_text(world: Made) -> None:
    world.con.execute("BEGIN")
    with pytest.raises(duckdb.Error):
        world.con.execute("SELECT nothing")
    assert world.rows("ROLLBACK; SELECT llm('{}', 1)") == [("1",)]


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v AS SELECT llm('{}', 1)",
        "CREATE TEMP MACRO m() AS 1",
        "ATTACH ':memory:' AS b",
        "PREPARE p AS SELECT 1",
    ],
)
def test_what_is_learned_of_a_statement_leaves_its_result(
    world: Made, plain: duckdb.DuckDBPyConnection, text: str
) -> None:
    for con in (world.con, plain):
        con.execute(text.replace("llm('{}', 1)", "1") if con is plain else text)
    assert (world.con.description, world.con.fetchall()) == (plain.description, plain.fetchall())
