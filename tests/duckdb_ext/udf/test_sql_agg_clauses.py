"""llm_agg with DISTINCT, ORDER BY, FILTER and OVER: names, parameters, what keeps a text, errors, EXPLAIN.

What rows they give is in sql_cases/aggregates.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from sql_fixtures import Made, make

from relserve.engines.scripted import echo
from relserve.errors import OptionError, TemplateError, UsageError

S = (
    "(VALUES ('a', 'x', 3), ('a', 'y', 2), ('a', 'x', 1), ('b', NULL, 4), ('b', 'z', 5), ('c', NULL, 6))"
    " s(g, x, k)"
)
BY_K = "llm_agg('J {}', x ORDER BY k)"
FORMS = [
    BY_K,
    "llm_agg(DISTINCT 'J {}', x)",
    "llm_agg('J {}', x) FILTER (WHERE (k > 2))",
    "llm_agg('J {}', x) OVER (PARTITION BY g)",
]


def echoing() -> Made:
    made = make(tables=False, script=echo)
    made.con.execute(f"CREATE TABLE s AS FROM {S}")
    return made


@pytest.fixture
def said() -> Made:
    """Where an answer is its prompt."""
    return echoing()


@pytest.fixture(scope="module")
def refusing() -> Iterator[Made]:
    """As `said`, one for all texts that are refused before anything is asked."""
    made = echoing()
    yield made
    made.con.close()


def names(made: Made) -> list[str]:
    return [column[0] for column in made.con.description]


def test_values_come_in_the_order_given_or_else_in_ascending_order(said: Made) -> None:
    assert said.rows(f"SELECT g, {BY_K}, llm_agg(DISTINCT 'K {{}}', x) FROM s GROUP BY g ORDER BY g") == [
        ("a", "J \n1. x\n2. y\n3. x", "K \n1. x\n2. y"),
        ("b", "J \n1. z", "K \n1. z"),
        ("c", None, None),
    ]
    sql = "SELECT k, llm_agg('J {}', x) OVER (ORDER BY k DESC ROWS 2 PRECEDING) FROM s WHERE k < 4 ORDER BY k"
    assert said.rows(sql) == [(1, "J \n1. x\n2. x\n3. y"), (2, "J \n1. x\n2. y"), (3, "J \n1. x")]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "clauses", ["ORDER BY id DESC)", ") FILTER (id >= 0)", ", max_tokens := 9 ORDER BY id)"]
)
def test_five_thousand_groups_are_one_engine_call(clauses: str) -> None:
    made = make()
    call = f"llm_agg('J {{}}', body{' ' * clauses.startswith('ORDER')}{clauses}"
    assert len(made.rows(f"SELECT id // 2, {call} FROM p GROUP BY 1")) == 5000
    assert made.asked[1] == 1
    unrehearsed = make(prefetch=False)
    assert len(unrehearsed.rows(f"SELECT id // 2, {call} FROM p GROUP BY 1")) == 5000
    assert unrehearsed.asked[1] <= 10


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_equal_windows_are_asked_once_and_in_rounds_where_they_are_long(prefetch: bool) -> None:
    made = make(prefetch)
    rows = made.rows("SELECT g, llm_agg('J {}', body) OVER (PARTITION BY g) FROM p WHERE id < 700")
    assert len(rows) == 700
    assert len(set(rows)) == 7
    assert made.asked[0] == 7
    made.rows("SELECT llm_agg('J {}', body, max_chars := 1000) OVER () FROM p WHERE id < 400")
    assert all(
        len(prompt) <= 1010 for submission in made.engine.submissions[-2:] for prompt in submission.prompts
    )
    assert made.rows("SELECT state, rows > 5 FROM llm_queries() ORDER BY rel_id DESC LIMIT 1") == [
        ("done", True)
    ]


@pytest.mark.cells(1)
@pytest.mark.parametrize("call", FORMS)
def test_columns_are_named_as_the_text_writes_them(said: Made, call: str) -> None:
    said.rows(f"SELECT {call} FROM s")
    assert names(said) == [call]
    said.rows(
        f"SELECT q.* FROM (SELECT {call} || '!', upper({call}) up, {call} AS \"a b\", c: {call} FROM s) q"
    )
    assert names(said) == [f"({call} || '!')", "up", "a b", "c"]
    assert said.con.sql(f"SELECT {call} FROM s").columns == [call]


@pytest.mark.long
def test_names_with_quotes_windows_and_subqueries(said: Made) -> None:
    said.rows("SELECT llm_agg('it''s \"J\" {}', x ORDER BY k) FROM s")
    assert names(said) == ["llm_agg('it''s \"J\" {}', x ORDER BY k)"]
    said.rows(f"SELECT (SELECT {BY_K} FROM s), 1")
    assert names(said) == [f"(SELECT {BY_K} FROM s)", "1"]
    said.rows("SELECT llm_agg('J {}', x) OVER w, k FROM s WINDOW w AS (PARTITION BY g)")
    assert names(said) == ["llm_agg('J {}', x) OVER w", "k"]
    said.rows("SELECT DISTINCT ON (g) g IS DISTINCT FROM k::VARCHAR, llm_agg('J {}', x) OVER () FROM s")
    assert names(said)[1] == "llm_agg('J {}', x) OVER ()"
    said.rows("SELECT llm_agg('J {}', COLUMNS('x|g') ORDER BY k) FROM s")
    assert names(said) == ["g", "x"]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT llm_agg(? || ' {}', x, max_tokens := ? ORDER BY k * ?), ? FROM s WHERE k < ?",
         ["P", 9, -1, "q", 4]),
        ("SELECT llm_agg($1 || ' {}', x, max_tokens := $2 ORDER BY k * $3), $4 FROM s WHERE k < $5",
         ["P", 9, -1, "q", 4]),
        ("SELECT llm_agg($p || ' {}', x, max_tokens := $m ORDER BY k * $o), $q FROM s WHERE k < $k",
         dict(p="P", m=9, o=-1, q="q", k=4)),
    ],
)  # fmt: skip
def test_parameters_keep_their_places(said: Made, sql: str, parameters: Any) -> None:
    assert said.rows(sql, parameters) == [("P \n1. x\n2. y\n3. x", "q")]
    relation = said.con.sql(sql, params=parameters)
    assert relation is not None
    assert relation.fetchall() == [("P \n1. x\n2. y\n3. x", "q")]
    assert {submission.sampling.max_tokens for submission in said.engine.submissions} == {9}


def test_prepared_statements_and_many_parameters(said: Made) -> None:
    said.con.execute("PREPARE q AS SELECT llm_agg(?, x, max_tokens := ? ORDER BY k * ?) FROM s")
    assert said.rows("EXECUTE q('P {}', 4, -1)") == [("P \n1. z\n2. x\n3. y\n4. x",)]
    said.con.execute("CREATE TABLE made(t VARCHAR)")
    many = "SELECT 1; INSERT INTO made SELECT llm_agg(?, x ORDER BY k * ?) FROM s"
    said.con.executemany(many, [["Q {}", 1], ["R {}", -1]])
    assert said.rows("FROM made") == [("Q \n1. x\n2. y\n3. x\n4. z",), ("R \n1. z\n2. x\n3. y\n4. x",)]


@pytest.mark.long
def test_views_and_macros_keep_working_and_on_another_connection(tmp_path: Any) -> None:
    path = str(tmp_path / "kept.duckdb")
    made = make(tables=False, path=path, script=echo)
    made.con.execute(f"CREATE TABLE s AS FROM {S}")
    made.con.execute(f"CREATE VIEW v AS SELECT g, {BY_K} FILTER (WHERE (k <> 2)) FROM s GROUP BY g")
    made.con.execute("CREATE MACRO backwards(t) AS llm_agg('B {}', t ORDER BY t DESC)")
    made.con.execute(f"CREATE MACRO upto(n) AS TABLE SELECT {BY_K} FILTER (WHERE k <= n) AS said FROM s")
    made.con.close()
    again = make(tables=False, path=path, script=echo)
    assert again.rows("FROM v ORDER BY g") == [("a", "J \n1. x\n2. x"), ("b", "J \n1. z"), ("c", None)]
    assert names(again) == ["g", f"{BY_K} FILTER (WHERE (k != 2))"]
    assert again.asked == (2, 1)
    assert again.rows("SELECT backwards(x) FROM s") == [("B \n1. z\n2. y\n3. x\n4. x",)]
    assert again.rows("FROM upto(2)") == [("J \n1. x\n2. y",)]
    again.con.close()


def test_relations_take_the_clauses_too(said: Made) -> None:
    relation = said.con.sql("FROM s")
    assert relation is not None
    assert relation.aggregate(f"g, {BY_K}", "g").order("g").fetchall()[0] == ("a", "J \n1. x\n2. y\n3. x")
    assert relation.project(f"{FORMS[3]} AS said").distinct().fetchall()[0][0].startswith("J")
    assert relation.query("q", f"SELECT {BY_K} FROM q").columns == [BY_K]
    parsed = said.con.extract_statements(f"SELECT 1; SELECT {BY_K} FROM s")[1]
    assert said.rows(parsed) == [("J \n1. x\n2. y\n3. x\n4. z",)]


def test_a_pivot_by_llm_agg(said: Made) -> None:
    assert said.rows("PIVOT s ON g USING llm_agg('I {}', x ORDER BY k)") == [
        ("I \n1. x\n2. y\n3. x", "I \n1. z", None)
    ]


def test_a_list_of_ones_own(said: Made) -> None:
    assert said.rows("SELECT llm_agg_list('L {}', ['b', NULL, 'a'])") == [("L \n1. b\n2. a",)]
    assert said.rows("SELECT llm_agg_list('L {}', [3, 20], ascending := true)") == [("L \n1. 20\n2. 3",)]
    assert (
        said.rows("SELECT llm_agg_list('L {}', v) FROM (VALUES (NULL), ([]), ([NULL])) t(v)") == [(None,)] * 3
    )
    with pytest.raises(OptionError, match="ascending must be the same for all rows"):
        said.rows("SELECT llm_agg_list('L {}', ['b'], ascending := k > 2) FROM s")
    with pytest.raises(OptionError, match="max_tokens must be from 1"):
        said.rows("SELECT llm_agg_list('L {}', ['b'], max_tokens := 0)")


WRONG = [
    (
        f"SELECT g,\n  {BY_K.replace('x', 'nope')}\nFROM s GROUP BY g",
        "LINE 2:   llm_agg('J {}', nope ORDER BY k)\n",
    ),
    ("SELECT llm_agg('J {}', x, max_tokens := nope ORDER BY k) FROM s", ":= nope ORDER BY k) FROM s\n"),
    ("SELECT llm_agg('J {}', x ORDER BY nope) OVER () FROM s", "ORDER BY nope) OVER () FROM s\n"),
    ("SELECT llm_agg('😀 {}', x ORDER BY k), nope.x FROM s", "'😀 {}', x ORDER BY k), nope.x FROM s\n"),
    (
        "SELECT llm_agg('J {}', nope.x) FILTER (k > 1) FROM s" + " " * 90,
        "llm_agg('J {}', nope.x) FILTER (k > 1)",
    ),
    ("SELECT " + "1, " * 90 + f"{BY_K}, nope FROM s", "LINE 1: ...1, 1, 1,"),
    (
        "EXPLAIN SELECT llm_agg('J {}', x ORDER BY nope) FROM s",
        "LINE 1: EXPLAIN SELECT llm_agg('J {}', x ORDER BY nope",
    ),
    (
        "SELECT 1;\nSELECT llm_agg('J {}', x ORDER BY nope) FROM s",
        "SELECT llm_agg('J {}', x ORDER BY nope) FROM s\n",
    ),
]


@pytest.mark.parametrize(("sql", "quoted"), WRONG, ids=[sql[:60] for sql, _ in WRONG])
def test_errors_quote_the_text_as_it_was_written(refusing: Made, sql: str, quoted: str) -> None:
    with pytest.raises(duckdb.BinderException) as caught:
        refusing.rows(sql)
    message = str(caught.value)
    assert quoted in message
    assert "list(" not in message
    line, carets = message.splitlines()[-2:]
    assert carets.strip(" ") == "^" * len(carets.strip(" "))
    wide = line.count("😀")
    assert line[carets.index("^") - wide :].startswith("nope")


def test_errors_while_it_runs_and_of_explain_llm_do_too(said: Made) -> None:
    sql = f"SELECT {BY_K}::INTEGER FROM s"
    relation = said.con.sql(sql)
    assert relation is not None
    for run in (lambda: said.rows(sql), relation.fetchall):
        with pytest.raises(
            duckdb.ConversionException, match=r"LINE 1: SELECT llm_agg\('J \{\}', x ORDER BY k\)::INT"
        ):
            run()
    with pytest.raises(duckdb.BinderException, match=r"LINE 1: SELECT llm_agg\('J \{\}', nope ORDER"):
        said.con.explain_llm("SELECT llm_agg('J {}', nope ORDER BY k) FROM s")


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        ("SELECT 'J {}'.llm_agg(x ORDER BY k) FROM s", UsageError, "written llm_agg.* not behind a dot"),
        ("SELECT llm_agg('J {} {}', x, g ORDER BY k) FROM s", UsageError, "one value .* not 2; .* concat_ws"),
        ("SELECT llm_agg('J {}') FILTER (k > 1) FROM s", UsageError, "not 0"),
        ("SELECT llm_agg() OVER () FROM s", UsageError, "not 0"),
        ("SELECT llm_agg('J {}', x, seed := 1, seed := 2 ORDER BY k) FROM s", duckdb.BinderException, "seed"),
        ("SELECT llm_agg('J', x ORDER BY k) FROM s", TemplateError, "argument 1 has no placeholder"),
        ("SELECT llm_agg('J {}', x, choices := ['a'] ORDER BY k) FROM s", OptionError, "no option 'choices'"),
        ("SELECT llm_agg(DISTINCT 'J {}', x, max_chars := 0) FROM s", OptionError, "must be from 1"),
        ("SELECT llm_agg('J {}', DISTINCT x) FROM s", duckdb.ParserException, 'near "DISTINCT"'),
        ("SELECT llm_agg(DISTINCT 'J {}', x ORDER BY k) FROM s", duckdb.BinderException, "argument list"),
        (f"SELECT g FROM s WHERE {BY_K} = 'x'", duckdb.BinderException, "cannot contain aggregates"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_anything_is_asked(
    refusing: Made, sql: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        refusing.rows(sql)
    assert refusing.asked == (0, 0)


def test_explain_tells_the_prompts_of_windows_and_asks_nothing(made: Made) -> None:
    sql = "SELECT llm_agg('J {}', body ORDER BY id) OVER (ORDER BY id ROWS 1 PRECEDING) FROM p WHERE id < 70"
    (row,) = made.con.explain_llm(sql).table.to_pylist()
    assert (row["function"], row["rows"], row["distinct_prompts"]) == ("llm_agg", 70, 70)
    (row,) = made.con.explain_llm(
        sql.replace("ORDER BY id ROWS 1 PRECEDING", "PARTITION BY g")
    ).table.to_pylist()
    assert (row["rows"], row["distinct_prompts"]) == (70, 7)
    assert made.rows(f"EXPLAIN {sql}")[-1][0] == "llm_calls"
    assert made.asked == (0, 0)
