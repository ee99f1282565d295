"""EXPLAIN shows DuckDB's plan with the user's own calls, and fits the screen."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from relserve_duckdb.explain.explanation import DEFAULT_WIDTH
from relserve_duckdb.explain.user_calls import with_user_calls
from sql_fixtures import Made, make

from relserve.engines.scripted import echo

CALLS = [
    "llm('const')",
    "llm('s {}', body)",
    "llm('it''s {} about {}', body, title, max_tokens := 7, system := 'it''s, \"brief\"')",
    "llm_filter('Is it a good (one)? {x}, {y}', body, title)",
    "llm_classify('{}', body, choices := ['a', 'b''c'])",
    "llm_score('{}', body, lo := 1, hi := 3)",
    "llm_extract('{}', body, schema := {'a': 'VARCHAR', 'b': 'INTEGER'})",
    "llm_agg('J {}', body)",
    "llm_agg('J {}', body ORDER BY id DESC NULLS LAST)",
    "llm_agg(DISTINCT 'J {}', id, max_tokens := 9) FILTER (WHERE (id > 5))",
    "llm('o {}', llm('i {}', body, seed := 3))",
    "llm('{}{}{}{}{}{}{}{}', id, g, body, title, d, x, l, id)",
]
HIDDEN = ("__", "unset", "barrier", "to_json", "struct_pack", "from_json")


@pytest.fixture(scope="module")
def world() -> Iterator[Made]:
    """A connection that nothing is asked of."""
    made = make(script=echo)
    yield made
    made.con.close()


@pytest.fixture
def made(world: Made) -> Iterator[Made]:
    yield world
    world.con.execute("RESET explain_output")


@pytest.mark.cells(5)
@pytest.mark.parametrize("output", ["physical_only", "optimized_only", "all"])
@pytest.mark.parametrize("call", CALLS)
def test_the_plan_shows_the_call_as_it_was_written(made: Made, call: str, output: str) -> None:
    made.con.execute(f"SET explain_output = '{output}'")
    *plans, _ = made.rows(f"EXPLAIN SELECT {call} FROM p")
    for _, plan in plans:
        assert call in " ".join(plan.split())
        assert not any(word in plan for word in HIDDEN)
    assert made.asked == (0, 0)


@pytest.mark.cells(4)
@pytest.mark.parametrize("call", CALLS)
def test_a_relations_plan_too(made: Made, call: str) -> None:
    relation = made.con.sql(f"SELECT {call} FROM p")
    assert relation is not None
    plan = relation.explain()
    assert call in " ".join(plan.split())
    assert not any(word in plan for word in HIDDEN)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "call",
    [
        "llm_agg('J {}', body ORDER BY id DESC NULLS LAST, title ASC NULLS LAST)",
        "llm_agg(DISTINCT 'J {}', id, max_tokens := 9) FILTER (WHERE (title > body))",
        "llm_agg('J {}', llm('a, ORDER BY {}', body) ORDER BY llm('o {}', body) DESC NULLS LAST)",
    ],
)
def test_an_aggregate_that_is_no_column(made: Made, call: str) -> None:
    plan = made.rows(f"EXPLAIN SELECT count(*) FROM p HAVING {call} = 'x'")[0][1]
    assert call in " ".join(plan.split())


def test_parameters_and_answers_that_decide_the_plan(made: Made) -> None:
    assert "llm('of {}', body, max_tokens := 9)" in made.rows(
        "EXPLAIN SELECT llm($1, body, max_tokens := $2) FROM p", ["of {}", 9]
    )[0][1]  # fmt: skip
    assert made.rows("EXPLAIN SELECT CASE WHEN llm('const') = 'const' THEN 'yes' END")[-1][0] == "llm_calls"
    assert made.asked == (0, 0)


def test_what_is_no_call_of_ours_stays(made: Made) -> None:
    for text in ("(g = 1)", "'__llm_1(x'", '"odd "" name" || [1, 2]', "{'a': f(x, y)}", "it's", "a) b"):
        assert with_user_calls(text) in (text, "a")
    plan = made.rows("EXPLAIN SELECT from_json(llm('{}', body), '[\"VARCHAR\"]') FROM p")[0][1]
    assert "from_json(llm('{}', body), '[\"VARCHAR\"]')" in plan


def test_inputs_of_a_join_are_indented(made: Made) -> None:
    sql = "EXPLAIN SELECT count(*) FROM p JOIN u USING (id) WHERE llm_filter('good {}?', uname || title)"
    lines = made.rows(sql)[0][1].splitlines()
    assert any(line.startswith("├─ Seq Scan") for line in lines)
    assert any(line.startswith("└─ Seq Scan") for line in lines)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.cells(2)
@pytest.mark.parametrize("width", [None, 60, 80, 200])
def test_plan_and_table_fit_the_screen(
    made: Made, monkeypatch: pytest.MonkeyPatch, width: int | None
) -> None:
    if width is not None:
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setenv("COLUMNS", str(width))
    template = "Is this review of a product really, all things considered, a good one? {}"
    sql = (
        f"SELECT llm('{template}', body, system := 'Be brief.') FROM p WHERE llm_filter('{template}', title)"
    )
    relation: Any = made.con.sql(sql)
    texts = [text for _, text in made.rows(f"EXPLAIN {sql}")]
    for text in (*texts, str(made.con.explain_llm(sql)), relation.explain()):
        assert max(map(len, text.splitlines())) <= (width or DEFAULT_WIDTH)
    assert "rows  " in texts[-1]
    assert "llm_filter('Is " in texts[-1]
    assert ("depends on" in texts[-1].splitlines()[0]) == (width != 60)


def test_a_wide_explain_output_does_not_stop_the_prefetch() -> None:
    made = make(script=echo)
    made.con.execute("SET explain_output = 'all'")
    relation = made.con.sql("SELECT llm('x {}', body) FROM p")
    assert relation is not None
    assert len(relation.fetchall()) == 10000
    assert made.asked == (500, 1)
