"""Planning asks nothing, cheap predicates come first, and DuckDB's optimiser works on."""

from __future__ import annotations

import pytest
from sql_fixtures import Made

ASKS_NOTHING = [
    "EXPLAIN SELECT llm('const')",
    "EXPLAIN SELECT llm('x {}', body) FROM p",
    "/* why */ EXPLAIN (FORMAT JSON) SELECT llm('const'), id FROM p",
    "EXPLAIN CREATE TABLE n AS SELECT llm('const')",
    "DESCRIBE SELECT llm('const')",
    "PREPARE q AS SELECT llm('const')",
    "CREATE VIEW w AS SELECT llm('const') AS c, llm('x {}', body) AS y FROM p",
    "CREATE MACRO m() AS llm('const')",
    "SELECT 'no call of llm' AS t",
    "SELECT * FROM llm_queries()",
    "SELECT count(*) FROM llm_errors()",
]


@pytest.mark.parametrize("sql", ASKS_NOTHING)
def test_asks_nothing(made: Made, sql: str) -> None:
    made.rows(sql)
    made.con.sql(sql.replace(" q ", " q2 ").replace(" w ", " w2 ").replace(" m(", " m2("))
    assert made.asked == (0, 0)


def test_explain_shows_the_call(made: Made) -> None:
    for call in ("llm('const')", "llm('x {}', body)"):
        assert call in made.rows(f"EXPLAIN SELECT {call} FROM p")[0][1]


def test_explain_of_a_relation(made: Made) -> None:
    relation = made.con.sql("EXPLAIN SELECT llm('const')")
    assert relation is not None
    assert "llm('const')" in relation.fetchall()[0][1]
    assert made.asked == (0, 0)


def test_explain_analyze_runs(made: Made) -> None:
    made.rows("EXPLAIN ANALYZE SELECT llm('x {}', body) FROM p")
    assert made.asked == (500, 1)


def test_prepared_constant_call_is_asked_when_executed(made: Made) -> None:
    made.rows("PREPARE q AS SELECT llm('const')")
    assert made.rows("EXECUTE q") == [("const",)]
    made.rows("PREPARE q3 AS SELECT llm('of {}', $1)")
    assert made.rows("EXECUTE q3('a')") == [("of a",)]


def test_a_constant_call_whose_value_decides_the_plan(made: Made) -> None:
    call = "SELECT CASE WHEN llm('const') = 'const' THEN 'yes' END AS said"
    made.rows(f"EXPLAIN {call}")
    relation = made.con.sql(f"EXPLAIN {call}")
    assert relation is not None
    relation.fetchall()
    assert made.asked == (0, 0)
    made.rows(f"PREPARE q AS {call}")
    assert made.rows("EXECUTE q") == [("yes",)]
    assert made.rows(call) == [("yes",)]


@pytest.mark.parametrize("where", ["{} AND {}", "{1} AND {0}"])
def test_cheap_predicate_is_evaluated_first(made: Made, where: str) -> None:
    condition = where.format("llm_filter('x {}', body)", "abs(id - 500) < 9")
    plain = made.con.raw.execute(f"SELECT id FROM p WHERE {condition}").fetchall()
    assert plain == []  # an echo is neither yes nor no
    assert made.engine.num_prompts == 17


def test_plain_udf_keeps_limit_pushdown_and_common_subexpressions(made: Made) -> None:
    made.con.raw.execute("SELECT llm('x {}', body) FROM p LIMIT 5").fetchall()
    assert made.engine.num_prompts == 5
    plan = made.con.raw.execute(
        "EXPLAIN SELECT llm('x {}', body), llm('x {}', body) || 'z' FROM p"
    ).fetchall()
    assert plan[0][1].count("__llm_") == 1


def test_unused_call_is_never_asked(made: Made) -> None:
    assert made.rows("SELECT count(*) FROM (SELECT llm('x {}', body) AS y FROM p)") == [(10000,)]
    assert made.asked == (0, 0)
