"""A statement that makes no llm call runs once, whatever words stand in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sql_fixtures import Made, make

from relserve.engines.scripted import echo


@pytest.fixture
def world() -> Iterator[Made]:
    made = make(tables=False, script=echo)
    made.con.execute("CREATE TABLE llm_log AS SELECT 1::BIGINT AS i")
    made.con.execute("CREATE VIEW v AS SELECT llm('v {}', 1) AS said")
    made.con.execute("CREATE VIEW many AS SELECT llm('v {}', i) AS said FROM range(3000) t(i)")
    made.con.execute("CREATE MACRO m(x) AS llm('m {}', x)")
    made.con.execute("PREPARE calls AS SELECT llm('p {}', 1)")
    made.con.execute("PREPARE plain AS SELECT 1")
    yield made
    made.con.close()


@pytest.fixture
def seen(world: Made) -> list[int]:
    found: list[int] = []
    world.con.create_function("note", lambda i: found.append(i) or i, ["BIGINT"], "BIGINT", side_effects=True)
    return found


TEXTS = [
    "SELECT note(i) FROM llm_log",
    "SELECT note(i) AS llm FROM llm_log -- llm(",
    "SELECT note(i), 'llm(x)', \"i\" FROM llm_log /* text2sql */",
    "SELECT note(plain.i) FROM llm_log AS plain",
    "SELECT note(calls.i) FROM llm_log AS calls",
    "SELECT note(v.i), v.i AS m FROM llm_log AS v",
    "WITH v AS (SELECT 1 AS said) SELECT note(said::BIGINT) FROM v",
    "FROM llm_log SELECT note(i) AS m WHERE i > ALL (SELECT 0)",
    "CREATE TABLE llm_2 AS SELECT note(i) AS v FROM llm_log",
    "UPDATE llm_log SET i = note(i)",
    "EXPLAIN ANALYZE SELECT note(i) AS v FROM llm_log",
]  # fmt: skip


@pytest.mark.cells(3)
@pytest.mark.parametrize("text", TEXTS)
def test_a_statement_without_calls_is_evaluated_once(world: Made, seen: list[int], text: str) -> None:
    world.rows(text)
    assert seen == [1]
    assert world.asked == (0, 0)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "read",
    [
        lambda con: con.sql("SELECT note(i) AS v FROM llm_log").fetchall(),
        lambda con: con.table("llm_log").project("note(i) AS llm").fetchall(),
        lambda con: con.sql("SELECT note(i) FROM llm_log AS calls").create("llm_3"),
    ],
)
def test_a_relation_without_calls_is_evaluated_once(
    world: Made, seen: list[int], read: Callable[[object], object]
) -> None:
    read(world.con)
    assert seen == [1]


def test_explain_evaluates_nothing_where_no_call_is_made(world: Made, seen: list[int]) -> None:
    assert world.con.explain_llm("SELECT note(v.i) FROM llm_log AS v").calls == ()
    world.rows("EXPLAIN SELECT note(v.i) FROM llm_log AS v")
    assert seen == []


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT said FROM many",
        "SELECT many.said AS i FROM many JOIN llm_log ON true",
        "SELECT m(i) FROM range(3000) t(i)",
        "SELECT m(i) FROM (FROM range(3000) t(i))",
    ],
)
def test_calls_behind_a_name_are_still_asked_at_once(world: Made, text: str) -> None:
    world.rows(text)
    assert len(world.engine.submissions) == 1


def test_a_prepared_statement_is_forgotten_when_it_is_deallocated(world: Made) -> None:
    known = world.con._indirect_calls
    assert known.mentions("EXECUTE calls")
    assert not known.mentions("EXECUTE plain")
    world.con.execute("PREPARE \"odd name\" AS SELECT llm('x')")
    assert known.mentions('EXECUTE "odd name"')
    world.con.execute('DEALLOCATE "odd name"')
    world.con.execute("DEALLOCATE PREPARE calls")
    assert not known.mentions('EXECUTE "odd name"; EXECUTE calls')
