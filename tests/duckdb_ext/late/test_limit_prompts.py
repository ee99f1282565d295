# ruff: noqa: E501 - a statement a line
"""ORDER BY and LIMIT over llm calls: prompts for the rows that come out, and DuckDB's own rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sql_fixtures import Made, make

from relserve.engines.scripted import echo

TABLES = """
CREATE TABLE r AS SELECT i AS id, 'text ' || i AS body, i % 7 AS g, CASE WHEN i % 5 = 0 THEN NULL ELSE i END AS n,
    {'a': 'in ' || i, 'b': i} AS s FROM range(400) t(i);
CREATE TABLE u AS SELECT i * 2 AS id, 'user ' || i AS name FROM range(100) t(i);
CREATE VIEW moods AS SELECT id, g, llm('Mood: {}', body) AS mood FROM r;
CREATE VIEW named(k, mood) AS SELECT id, llm('Mood: {}', body) FROM r WHERE body IS NOT NULL;
CREATE VIEW over_moods AS SELECT mood, id FROM moods WHERE g < 5;
CREATE VIEW first_moods AS SELECT id, llm('Mood: {}', body) AS mood FROM r WHERE body IS NOT NULL ORDER BY id LIMIT 6;
"""
M = "llm('Mood: {}', body)"

# no answer decides which rows come out, or their order
BY_NO_ANSWER = [
    f"SELECT id, {M} FROM r WHERE body IS NOT NULL ORDER BY id LIMIT 20",
    f"SELECT id, {M} FROM r WHERE body IS NOT NULL ORDER BY id LIMIT 60",
    f"SELECT id, {M} FROM r WHERE body IS NOT NULL ORDER BY id DESC LIMIT 20 OFFSET 10",
    f"SELECT id, {M} FROM r ORDER BY n NULLS FIRST, id LIMIT 60",
    f"SELECT id, {M} FROM r ORDER BY n DESC NULLS LAST, id LIMIT 60",
    f"SELECT id, {M} AS mood FROM r ORDER BY g, -id LIMIT 60",
    f"SELECT id, {M} AS mood FROM r ORDER BY abs(id - 200), id LIMIT 60",
    f"SELECT id AS k, {M} AS mood FROM r ORDER BY k LIMIT 60",
    f"SELECT id, {M} AS mood FROM r ORDER BY 1 LIMIT 60",
    f"SELECT {M} AS mood, id FROM r ORDER BY 2 DESC LIMIT 60",
    f"SELECT *, {M} AS mood FROM r ORDER BY 1 LIMIT 60",
    f"SELECT * EXCLUDE (s), {M} FROM r ORDER BY id LIMIT 60",
    f"FROM r SELECT id, {M} ORDER BY id LIMIT 60",
    f"SELECT id, {M} FROM r ORDER BY id LIMIT 15%",
    f"SELECT id, {M} FROM r LIMIT 15%",
    f"SELECT id, {M} FROM r LIMIT 60 OFFSET 30",
    f"SELECT id, {M} FROM r ORDER BY id LIMIT (SELECT 60)",
    f"SELECT r.id, {M}, u.name FROM r JOIN u ON r.id = u.id ORDER BY r.id LIMIT 10",
    f"SELECT r.id, u.id, {M} FROM r JOIN u ON r.id = u.id ORDER BY u.name LIMIT 10",
    "SELECT r.id, llm('{} of {}', r.body, u.name) FROM r LEFT JOIN u USING (id) ORDER BY r.id LIMIT 10",
    "SELECT r.id, llm('{} of {}', body, name) FROM r, u WHERE r.id = u.id ORDER BY r.id LIMIT 10",
    f"WITH m AS (SELECT id, {M} AS mood FROM r WHERE body <> '') SELECT * FROM m ORDER BY id LIMIT 60",
    f"WITH a AS (SELECT * FROM r), m AS (SELECT id, {M} AS mood FROM a) SELECT mood AS x FROM m ORDER BY id LIMIT 60",
    f"WITH m AS (SELECT id, {M} AS mood FROM r ORDER BY id LIMIT 60) SELECT * FROM m",
    f"SELECT m.mood, u.name FROM (SELECT id, {M} AS mood FROM r) m JOIN u ON m.id = u.id ORDER BY m.id LIMIT 9",
    f"SELECT * FROM (SELECT id, {M} FROM r WHERE g > 2) ORDER BY id LIMIT 60",
    f"SELECT * FROM (SELECT id, {M} FROM r ORDER BY id LIMIT 60) ORDER BY id DESC LIMIT 5",
    f"SELECT length(mood) FROM (SELECT id, {M} AS mood FROM r ORDER BY id LIMIT 60)",
    "SELECT * FROM moods WHERE g = 3 ORDER BY id LIMIT 55",
    "SELECT k, mood FROM named ORDER BY k DESC LIMIT 60",
    "SELECT v.*, u.name FROM over_moods v JOIN u USING (id) ORDER BY u.id LIMIT 9",
    "SELECT * FROM first_moods",
    f"(SELECT id, {M} FROM r WHERE g = 1 ORDER BY id LIMIT 5) UNION ALL "
    f"(SELECT id, {M} FROM r WHERE g = 2 ORDER BY id DESC LIMIT 5) ORDER BY id",
    f"SELECT DISTINCT ON (g) g, id, {M} FROM r ORDER BY g, id DESC",
    "SELECT llm('Mood: {}', body) FROM (SELECT DISTINCT body FROM r) ORDER BY body LIMIT 60",
    f"SELECT id, {M} FROM r QUALIFY row_number() OVER (PARTITION BY g ORDER BY id) < 20 ORDER BY id LIMIT 60",
    f"SELECT id, {M}, row_number() OVER (ORDER BY id DESC) AS k FROM r ORDER BY k LIMIT 60",
    "SELECT g, llm('Of {}: {}', count(*), max(body)) FROM r GROUP BY g ORDER BY g LIMIT 3",
    "SELECT g, llm('Of {}', string_agg(body, ',' ORDER BY id) FILTER (WHERE id < 50)) FROM r GROUP BY g ORDER BY g LIMIT 3",
    "SELECT id, llm('{}', lag(body) OVER (ORDER BY id)) FROM r ORDER BY id LIMIT 60",
    "SELECT id, llm('{}: {}', upper(body), s.b + 1) || '/' || g FROM r ORDER BY id LIMIT 60",
    "SELECT id, llm('{a} {b}', s) FROM r ORDER BY id LIMIT 60",
    "SELECT id, llm('{body}, {g}', r) FROM r ORDER BY id LIMIT 60",
    "SELECT id, CASE WHEN g < 3 THEN llm('{}', body) ELSE body END FROM r ORDER BY id LIMIT 60",
    "SELECT id, llm_int('Count {}', id) + 1, llm_bool('{}?', body) FROM r ORDER BY id LIMIT 60",
    "SELECT id, llm_score('{}', body, lo := 1, hi := 5) FROM r WHERE n > 1 ORDER BY id LIMIT 60",
    "SELECT id, llm_classify('{}', body, choices := ['a', 'b']) FROM r WHERE n > 1 ORDER BY id LIMIT 60",
    "SELECT id, llm_filter('{}', body) AND g > 2 FROM r WHERE n > 1 ORDER BY id LIMIT 60",
    'SELECT id, llm_extract(\'{}\', body, schema := \'{"a": "VARCHAR"}\').a FROM r ORDER BY id LIMIT 60',
    "SELECT id, llm_date('{}', body) FROM r WHERE n > 1 ORDER BY id LIMIT 60",
    f"SELECT id, {M} AS \"body\" FROM r t WHERE t.g = 1 ORDER BY t.id LIMIT 52",
    "SELECT id, llm('Mood: {}', body) AS body FROM r WHERE body IS NOT NULL ORDER BY id LIMIT 60",
    "SELECT id, llm('Mood: {}', r.body) AS body FROM r WHERE r.body IS NOT NULL ORDER BY r.body, id LIMIT 60",
    f"SELECT id, {M}::VARCHAR FROM r WHERE id IN (SELECT id FROM u) ORDER BY id LIMIT 60;",
    f"SELECT id, /* ORDER BY */ {M} -- LIMIT\n FROM r USING SAMPLE 100 PERCENT ORDER BY id LIMIT 60",
]  # fmt: skip

# an answer decides: they may ask more, and give the same rows
BY_AN_ANSWER = [
    f"SELECT id, {M} AS mood FROM r ORDER BY mood, id LIMIT 5",
    f"SELECT id, {M} FROM r ORDER BY {M} DESC, id LIMIT 5",
    f"SELECT id, {M} FROM r ORDER BY 2, 1 LIMIT 5",
    f"SELECT * FROM (SELECT id, {M} AS mood FROM r) ORDER BY 2 DESC LIMIT 5",
    f"SELECT id, {M} AS mood FROM r ORDER BY ALL LIMIT 5",
    f"SELECT id, {M} AS mood FROM r ORDER BY #2 LIMIT 5",
    "SELECT DISTINCT g, llm('{}', g) FROM r ORDER BY g LIMIT 5",
    f"SELECT {M} AS mood, count(*) FROM r GROUP BY mood ORDER BY count(*), 1 LIMIT 5",
    f"SELECT {M} AS mood, count(*) FROM r GROUP BY 1 ORDER BY 1 LIMIT 5",
    f"SELECT {M} AS mood, id FROM r GROUP BY ALL ORDER BY id LIMIT 5",
    f"SELECT id, {M} AS mood, upper(mood) FROM r ORDER BY id LIMIT 5",
    f"SELECT id, {M} AS mood FROM r WHERE mood LIKE '%1%' ORDER BY id LIMIT 5",
    f"SELECT id, {M} AS mood FROM r QUALIFY row_number() OVER (ORDER BY mood) < 9 ORDER BY id LIMIT 5",
    f"SELECT max({M}) FROM r WHERE id < 9 LIMIT 5",
    f"SELECT id, row_number() OVER (ORDER BY {M}) FROM r ORDER BY id LIMIT 5",
    f"WITH m AS (SELECT id, {M} AS mood FROM r) SELECT id, mood FROM m WHERE mood > 'Mood: text 2' ORDER BY id LIMIT 5",
    f"WITH m AS (SELECT id, {M} AS mood FROM r) SELECT m FROM m ORDER BY id LIMIT 5",
    f"WITH m AS (SELECT id, {M} AS mood FROM r) SELECT a.id, b.mood FROM m a JOIN m b ON a.mood = b.mood ORDER BY 1 LIMIT 5",
    f"SELECT u.id, m.mood FROM u LEFT JOIN (SELECT id, coalesce({M}, 'none') AS mood FROM r WHERE id > 9) m "
    "USING (id) ORDER BY u.id LIMIT 9",
    f"SELECT id, {M} AS id2 FROM r UNION SELECT id, {M} FROM r ORDER BY id LIMIT 5",
    f"SELECT id, {M} FROM r WHERE llm_filter('Good? {{}}', body) ORDER BY id LIMIT 5",
    f"SELECT id, {M} FROM r WHERE llm_filter('Good? {{}}', body) LIMIT 5",
    f"SELECT list(mood) FROM (SELECT {M} AS mood FROM r ORDER BY id) LIMIT 5",
    f"SELECT * FROM (SELECT id, {M} AS mood FROM r) NATURAL JOIN (SELECT 'Mood: text 3' AS mood) ORDER BY id LIMIT 5",
    f"SELECT id, (SELECT {M}) FROM r ORDER BY id LIMIT 5",
    f"PIVOT (SELECT g, {M} AS mood FROM r WHERE id < 3) ON g USING count(mood) LIMIT 5",
]  # fmt: skip


def answer(prompt: str, submission: Any) -> Any:
    """The prompt itself; a choice or a number where the call wants one."""
    grammar = submission.sampling.grammar
    if grammar is not None and grammar.choices:
        return grammar.choices[len(prompt) % len(grammar.choices)]
    if "Count" in prompt:
        return prompt.split()[-1]
    return echo(prompt, submission)


def fresh(prefetch: bool = True) -> Made:
    made = make(prefetch, tables=False, script=answer)
    made.con.execute(TABLES)
    return made


@pytest.fixture(scope="module")
def plain() -> Iterator[Made]:
    """A connection that hands DuckDB the texts as they are written."""
    made = fresh(prefetch=False)
    yield made
    made.con.close()


@pytest.fixture(scope="module")
def late() -> Iterator[Made]:
    """A connection as users have it; the statements that it runs leave nothing behind."""
    made = fresh()
    yield made
    made.con.close()


@pytest.mark.cells(8)
@pytest.mark.parametrize("sql", BY_NO_ANSWER)
def test_only_the_rows_that_come_out_are_asked(late: Made, plain: Made, sql: str) -> None:
    before = late.engine.num_prompts
    rows = late.rows(sql)
    assert rows == plain.rows(sql)
    assert [tuple(map(str, each[:2])) for each in late.con.description] == [
        tuple(map(str, each[:2])) for each in plain.con.description
    ]
    assert late.engine.num_prompts - before <= len(rows) * sql.count("llm_bool") + len(rows)


@pytest.mark.cells(5)
@pytest.mark.parametrize("sql", BY_AN_ANSWER)
def test_where_an_answer_decides_the_rows_are_those_of_the_text(late: Made, plain: Made, sql: str) -> None:
    assert late.rows(sql) == plain.rows(sql)


@pytest.mark.long
def test_the_order_holds_where_duckdb_need_not_keep_that_of_a_table() -> None:
    made = fresh()
    made.con.execute("SET preserve_insertion_order = false")
    rows = made.rows("SELECT id, llm('{}', id) FROM range(300000) t(id) ORDER BY -id LIMIT 3000 OFFSET 1")
    assert [row[0] for row in rows] == list(range(299_998, 296_998, -1))
    assert all(row == (row[0], str(row[0])) for row in rows)
    assert made.engine.num_prompts == 3000
    rows = made.rows(
        "SELECT DISTINCT ON (g) id % 90000 AS g, llm('{}', g) FROM range(300000) t(id) ORDER BY g DESC"
    )
    assert rows == [(g, str(g)) for g in range(89_999, -1, -1)]


@pytest.mark.long
def test_ties_and_random_orders_give_as_many_rows_and_their_answers() -> None:
    for order, limit in (("g", 60), ("random()", 60), ("g, random()", "10%"), ("hash(body)", 60)):
        made = fresh()
        rows = made.rows(f"SELECT body, {M} FROM r ORDER BY {order} LIMIT {limit}")
        assert len(rows) in (60, 40)
        assert all(mood == f"Mood: {body}" for body, mood in rows)
        assert made.engine.num_prompts == len(rows)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (f"SELECT id, {M} FROM r WHERE g > ? ORDER BY id LIMIT ? OFFSET ?", [2, 60, 3]),
        (f"SELECT id, {M} || $who FROM r ORDER BY id LIMIT $n", {"n": 60, "who": "!"}),
        ("SELECT ? AS a, llm(?, body) || ? FROM r WHERE g = ? ORDER BY id LIMIT ?", [1, "T {}", "!", 2, 30]),
        (f"WITH m AS (SELECT id, {M} AS mood FROM r WHERE g <> $2) SELECT * FROM m ORDER BY id LIMIT $1", [60, 1]),
        (f"SELECT * FROM (SELECT id, {M} FROM r WHERE g <> ? ORDER BY id LIMIT ?) WHERE id > ?", [1, 60, 2]),
    ],
)  # fmt: skip
def test_parameters_keep_their_values(plain: Made, sql: str, parameters: Any) -> None:
    made = fresh()
    rows = made.rows(sql, parameters)
    assert rows == plain.rows(sql, parameters)
    assert made.engine.num_prompts <= 60
    relation = fresh()
    assert relation.con.sql(sql, params=parameters).fetchall() == rows
    assert relation.engine.num_prompts <= 60


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE TABLE made AS SELECT id, {M} AS mood FROM r ORDER BY id LIMIT 60",
        f"CREATE TABLE made (id BIGINT, mood VARCHAR); INSERT INTO made SELECT id, {M} FROM r ORDER BY id LIMIT 60",
        "CREATE TABLE made AS WITH f AS (SELECT * FROM moods) SELECT id, mood FROM f ORDER BY id LIMIT 60",
        f"BEGIN; CREATE TABLE made AS (SELECT id, {M} AS mood FROM r ORDER BY id LIMIT 60); COMMIT",
        f"CREATE TABLE made AS SELECT id, body AS mood FROM r WHERE id < 60; "
        f"UPDATE made SET mood = m.mood FROM (SELECT id, {M} AS mood FROM r ORDER BY id LIMIT 60) m WHERE m.id = made.id",
    ],
)  # fmt: skip
def test_statements_that_write_ask_for_what_they_write(sql: str) -> None:
    made = fresh()
    made.con.execute(sql)
    assert made.rows("FROM made ORDER BY id") == [(i, f"Mood: text {i}") for i in range(60)]
    assert made.engine.num_prompts == 60


def test_a_filter_decides_first_and_the_list_is_asked_for_the_rows_that_come_out() -> None:
    made = fresh()
    rows = made.rows(f"SELECT id, {M} FROM r WHERE llm_filter('Good? {{}}', body) ORDER BY id LIMIT 60")
    moods = [prompt for each in made.engine.submissions for prompt in each.prompts if "Mood" in prompt]
    assert len(rows) == len(moods) == 60


def test_a_score_decides_the_order_and_only_its_first_rows_are_described() -> None:
    made = fresh()
    sql = f"SELECT id, llm_score('Rate {{}}', id, lo := 1, hi := 5) AS s, {M} FROM r ORDER BY s, id LIMIT 10"
    assert len(made.rows(sql)) == 10
    assert made.engine.num_prompts == 400 + 10


def test_explain_counts_what_would_be_asked() -> None:
    made = fresh()
    sql = f"SELECT id, {M} FROM r WHERE body IS NOT NULL ORDER BY id LIMIT 60"
    (call,) = made.con.explain_llm(sql).calls
    assert call.estimate is not None
    assert call.estimate.num_distinct == 60
    told = str(made.con.execute(f"EXPLAIN {sql}").fetchall())
    assert "TOP_N" in told.upper().replace(" ", "_")
    assert made.engine.num_prompts == 0


def test_an_error_quotes_the_text_of_the_user() -> None:
    made = fresh()
    with pytest.raises(Exception, match=r"LINE 1: SELECT id, llm\('\{\}', nope\) FROM r"):
        made.con.execute("SELECT id, llm('{}', nope) FROM r ORDER BY id LIMIT 5")


def test_an_open_result_is_ended_as_by_any_statement() -> None:
    made = fresh()
    made.con.execute("FROM r").fetchone()
    assert len(made.rows(BY_NO_ANSWER[1])) == 60
    assert made.engine.num_prompts == 60


@pytest.mark.long
def test_a_view_that_names_a_model_stays_a_view() -> None:
    """Its server would be taken for one that the user's own text names."""
    made = fresh()
    made.con.execute(
        "CREATE VIEW strange AS SELECT id, llm('{}', body, model := 'http://elsewhere/v1') AS y FROM r"
    )
    relation = made.con.sql("SELECT * FROM strange WHERE y IS NOT NULL ORDER BY id LIMIT 60")
    assert "elsewhere" not in relation.sql_query()
    relation = made.con.sql("SELECT * FROM strange ORDER BY id LIMIT 60")
    assert "elsewhere" not in relation.sql_query()
