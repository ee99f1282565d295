"""EXPLAIN and explain_llm: what the llm calls would ask, without asking."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from relserve_duckdb import attach
from relserve_duckdb.explain.explanation import Explanation
from sql_fixtures import Made, make

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import ModelError, OptionError, TemplateError, UsageError
from relserve.session.session import Session
from tests.waiting import Limit, act_when


def explain(made: Made, sql: Any, parameters: Any = None) -> list[dict[str, Any]]:
    """The rows of the table; nothing may be asked."""
    asked = made.asked
    found = made.con.explain_llm(sql, parameters)
    assert made.asked == asked
    return found.table.to_pylist()


def counts(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["function"], r["rows"], r["null_rows"], r["distinct_prompts"], r["depends_on"]) for r in rows]


@pytest.fixture(scope="module")
def world() -> Iterator[Made]:
    """One connection for all statements that are only explained."""
    made = make(script=echo, macro=True)
    yield made
    made.con.close()


SURE = [
    ("SELECT llm('s {}', body) FROM p", [("llm", 10000, 0, 500, [])]),
    ("SELECT llm('s {}', title) FROM p", [("llm", 10000, 200, 40, [])]),
    ("SELECT llm('s {}', body) FROM p LIMIT 7", [("llm", 7, 0, 7, [])]),
    ("SELECT llm('s {}', body) FROM p WHERE g = 2 ORDER BY id LIMIT 3", [("llm", 3, 0, 3, [])]),
    (
        "SELECT llm('a {}', body), llm_filter('b {}', title) FROM p",
        [("llm", 10000, 0, 500, []), ("llm_filter", 10000, 200, 40, [])],
    ),
    ("EXPLAIN SELECT llm('s {}', body) FROM p WHERE id < 10", [("llm", 10, 0, 10, [])]),
    ("SELECT y FROM vv", [("llm", 100, 0, 100, [])]),
    ("SELECT rate(body) FROM p WHERE id < 5", [("llm", 5, 0, 5, [])]),
    ("INSERT INTO z SELECT id, llm('i {}', body) FROM p WHERE id < 9", [("llm", 9, 0, 9, [])]),
    ("UPDATE z SET body = llm('u {}', body) WHERE id < 8", [("llm", 8, 0, 8, [])]),
    ("CREATE TABLE n AS SELECT llm('c {}', body) AS y FROM p", [("llm", 10000, 0, 500, [])]),
    ("SELECT llm('s {}', body) FROM empty", []),
    ("SELECT count(*) FROM (SELECT llm('s {}', body) FROM p)", []),
    ("SELECT 1 AS llm_free", []),
    ("SELECT 1", []),
    ("PREPARE q AS SELECT llm('s {}', body) FROM p", []),
    ("SELECT llm('constant')", [("llm", 1, 0, 1, [])]),
]


@pytest.mark.cells(8)
@pytest.mark.parametrize(("sql", "expected"), SURE)
def test_sites_that_no_answer_decides_about(world: Made, sql: str, expected: list[Any]) -> None:
    rows = explain(world, sql)
    assert counts(rows) == expected
    assert not any(row["at_most"] for row in rows)


@pytest.mark.cells(6)
@pytest.mark.parametrize(("sql", "expected"), [case for case in SURE if case[1] and "INTO z" not in case[0]])
def test_the_numbers_are_those_of_the_run(world: Made, sql: str, expected: list[Any]) -> None:
    before = len(world.con.session.history.queries())
    world.con.execute("BEGIN")
    world.rows(sql.removeprefix("EXPLAIN "))
    world.con.execute("ROLLBACK")
    asked = world.con.session.history.queries()[before:]
    assert [(q.function, q.num_rows, q.num_null, q.num_distinct) for q in asked] == [
        row[:4] for row in expected
    ]


def test_parameters(world: Made) -> None:
    assert counts(explain(world, "SELECT llm(?, body) FROM p WHERE id < ?", ["x {}", 3])) == [
        ("llm", 3, 0, 3, [])
    ]


def test_a_filter_in_front_gives_an_upper_bound(world: Made) -> None:
    sql = "SELECT llm('b {}', title) FROM p WHERE llm_filter('a {}', body)"
    rows = explain(world, sql)
    assert counts(rows) == [("llm_filter", 10000, 0, 500, []), ("llm", 10000, 200, 40, [1])]
    assert [row["at_most"] for row in rows] == [False, True]


def test_a_chain_of_filters_each_hangs_on_the_one_before(world: Made) -> None:
    where = "llm_filter('a {}', body) AND llm_filter('b {}', title) AND llm_filter('c {}', id)"
    rows = explain(world, f"SELECT id FROM p WHERE {where}")
    assert [(r["template"], r["rows"], r["depends_on"]) for r in rows] == [
        ("a {}", 10000, []), ("b {}", 10000, [1]), ("c {}", 9800, [2]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "condition",
    ["NOT llm_filter('a {}', body)", "llm_score('a {}', body) > 7", "llm_score('a {}', body) < 3",
     "llm_classify('a {}', body, choices := ['x', 'y', 'z']) = 'y'", "length(llm('a {}', body)) > 0"],
)  # fmt: skip
def test_made_up_answers_of_every_type_reach_what_is_behind(world: Made, condition: str) -> None:
    rows = explain(world, f"SELECT llm('b {{}}', title) FROM p WHERE {condition}")
    assert [(r["template"], r["rows"], r["depends_on"]) for r in rows] == [
        ("a {}", 10000, []), ("b {}", 10000, [1]),
    ]  # fmt: skip


def test_an_else_branch_depends_too(world: Made) -> None:
    sql = "SELECT CASE WHEN llm_filter('a {}', body) THEN 'x' ELSE llm('b {}', title) END FROM p"
    assert counts(explain(world, sql))[1] == ("llm", 10000, 200, 40, [1])


def test_calls_beside_each_other_behind_a_filter_hang_on_the_filter_alone(world: Made) -> None:
    sql = "SELECT llm('b {}', title), llm('c {}', id) FROM p WHERE llm_filter('a {}', body)"
    assert [r["depends_on"] for r in explain(world, sql)] == [[], [1], [1]]


def test_prompts_made_of_another_calls_text_have_unknown_tokens(world: Made) -> None:
    rows = explain(world, "SELECT llm('o {}', llm('i {}', body)) FROM p")
    assert counts(rows) == [("llm", 10000, 0, 500, []), ("llm", 10000, 0, 500, [1])]
    assert rows[0]["prompt_tokens"] is not None
    assert (rows[1]["prompt_tokens"], rows[1]["shared_prefix"], rows[1]["seconds"]) == (None, None, None)


def test_what_no_rehearsal_reaches_is_shown_without_numbers(world: Made) -> None:
    sql = "SELECT llm('b {}', title) FROM p WHERE llm('a {}', body) = 'never made up'"
    rows = explain(world, sql)
    assert counts(rows)[1] == ("llm", None, None, None, [1])
    assert "unknown" in str(world.con.explain_llm(sql))


@pytest.mark.long
def test_made_up_answers_leave_no_answer_behind() -> None:
    made = make(chunk=1000)
    sql = "SELECT count(*) FROM p WHERE llm_filter('a {}', body) AND llm('b {}', title) IS NOT NULL"
    before = made.rows(sql)
    made.con.explain_llm(sql)
    assert made.rows(sql) == before
    assert make(chunk=1000).rows(sql) == before


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT llm('s {}', random()) FROM p", "may give other rows when read again"),
        ("SELECT CASE WHEN llm_filter('{}?', body) THEN llm_filter('{}?', title) END FROM p", "look alike"),
        (
            "MERGE INTO z USING u ON z.id = u.id WHEN MATCHED THEN UPDATE SET body = llm('m {}', uname)",
            "no SELECT",
        ),
        ("SELECT llm('s {}', a) FROM reader", "can be read only once"),
    ],
)
def test_what_cannot_be_rehearsed_is_said_in_words(made: Made, sql: str, why: str) -> None:
    reader = duckdb.sql("SELECT 'x' AS a").to_arrow_reader()
    assert why in str(made.con.explain_llm(sql))
    assert made.asked == (0, 0)
    assert reader.read_all().num_rows == 1


def test_a_limit_that_may_stop_early_is_noted(made: Made) -> None:
    found = made.con.explain_llm("SELECT id FROM p WHERE llm_filter('a {}', body) LIMIT 5")
    assert "LIMIT" in str(found)
    assert found.calls[0].at_most


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT llm('{} {}', body) FROM p", TemplateError),
        ("SELECT llm('{nope}', p) FROM p", TemplateError),
        ("SELECT llm('{}', body, max_token := 1) FROM p", OptionError),
        ("SELECT 1; SELECT llm('{}', body) FROM p", UsageError),
        ("SELECT llm('{}', nope) FROM p", duckdb.BinderException),
        ("SELECT llm('{}', body::INT) FROM p", duckdb.ConversionException),
        ("SELEC llm('x')", duckdb.ParserException),
    ],
)
def test_wrong_statements_raise(made: Made, sql: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        made.con.explain_llm(sql)
    assert made.asked == (0, 0)


def test_a_wrong_model_raises_here_and_is_told_by_explain() -> None:
    def find_engine(name: str | None) -> ScriptedEngine:
        if name:
            raise ModelError(f"no model {name!r}")
        return ScriptedEngine()

    made = make()
    made.con.session.find_engine = find_engine
    sql = "SELECT llm('{}', body, model := 'nowhere') FROM p"
    with pytest.raises(ModelError):
        made.con.explain_llm(sql)
    assert "no model 'nowhere'" in made.rows(f"EXPLAIN {sql}")[1][1]


def test_relations(made: Made) -> None:
    relation = made.con.sql("SELECT llm('s {}', body) AS y, id FROM p")
    assert counts(explain(made, relation)) == [("llm", 10000, 0, 500, [])]
    assert relation is not None
    assert counts(explain(made, relation.filter("id < 4"))) == [("llm", 4, 0, 4, [])]
    plan = relation.explain()
    assert "Seq Scan" in plan
    assert "500 distinct prompts" in plan
    assert "distinct" not in made.con.sql("SELECT 1 AS llm_free").explain()
    assert made.asked == (0, 0)
    assert "distinct" not in relation.explain("analyze")


@pytest.mark.long
def test_seconds_come_from_what_was_seen_and_are_else_unknown() -> None:
    made = make(chunk=50, pause_s=0.02)
    sql = "SELECT llm('s {}', body) FROM p"
    first = made.con.explain_llm(sql)
    assert first.seconds is None
    assert "unknown" in str(first)
    made.rows("SELECT llm('other {}', body) FROM p")
    (taken,) = made.con.session.history.queries()
    second = made.con.explain_llm(sql)
    assert taken.seconds is not None
    assert second.seconds == pytest.approx(taken.seconds, rel=0.2)
    assert second.table.to_pylist()[0]["seconds_from"] == "1 earlier relQuery"


def test_a_small_relquery_says_nothing_about_a_large_one(made: Made) -> None:
    made.rows("SELECT llm('one {}', 1)")
    assert made.con.explain_llm("SELECT llm('s {}', id) FROM p").seconds is None


def test_answers_that_are_kept_are_not_sent(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    made = make(tables=False)
    made.engine.identity = "a model"
    made.con.session.cache = cache
    made.rows("CREATE TABLE p AS SELECT i, 'text ' || i AS body FROM range(500) r(i)")
    sql = "SELECT llm('s {}', body) FROM p"
    (before,) = explain(made, sql)
    made.rows(f"{sql} WHERE i < 400")
    (after,) = explain(made, sql)
    assert (before["cached_answers"], after["cached_answers"]) == (0, 400)
    assert after["prompt_tokens"] == pytest.approx(before["prompt_tokens"] / 5, abs=1)
    assert "cached" in str(made.con.explain_llm(sql))
    made.rows(sql)
    assert made.con.explain_llm(sql).seconds == 0
    cache.close()
    assert explain(make(), sql)[0]["cached_answers"] is None


@pytest.mark.performance
def test_explain_is_interrupted_while_a_server_tells_its_model(tmp_path: Path, limit_s: Limit) -> None:
    is_asked = threading.Event()

    class Slow(ScriptedEngine):
        async def fingerprint(self) -> str | None:
            is_asked.set()
            await asyncio.sleep(600)
            return "a model"

    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    con = attach(duckdb.connect(), Session(lambda model: Slow(), cache=cache))
    act_when(is_asked.is_set, con.interrupt)
    began = time.monotonic()
    with pytest.raises(duckdb.InterruptException):
        con.explain_llm("SELECT llm('s {}', i) FROM range(3) t(i)")
    assert time.monotonic() - began < limit_s(3)
    cache.close()


def test_shared_prefix_and_output_limits(world: Made) -> None:
    template = "word " * 60 + "{}"
    (row,) = explain(world, f"SELECT llm_filter('{template}', body) FROM p")
    assert 0.8 < row["shared_prefix"] < 1
    assert row["max_output_tokens"] == 500 * 4  # 'yes' and an end
    (row,) = explain(world, "SELECT llm('{}', body, max_tokens := 7) FROM p")
    assert row["max_output_tokens"] == 3500
    assert row["counted"] is False


def test_it_prints_one_line_a_call_and_a_total(made: Made) -> None:
    found = made.con.explain_llm("SELECT llm('b {}', title) FROM p WHERE llm_filter('a\n{}', body)")
    assert isinstance(found, Explanation)
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["#", "call", "rows"]
    assert lines[1].split()[:3] == ["1", "llm_filter('a", "{}')"]
    assert "<= 10,000" in lines[2]
    assert "#1" in lines[2]
    assert lines[3].startswith("2 llm calls: at most 20,000 rows, 540 distinct prompts")
    assert repr(found) == str(found)


def test_nothing_to_ask_is_said(world: Made) -> None:
    assert str(world.con.explain_llm("SELECT llm('s {}', body) FROM empty")) == "no llm call asks anything"
