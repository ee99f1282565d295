"""FROM text2sql(..): what runs is the user's statement with the SQL in it, and it gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from questions.recorded_answers import ANSWERS, Asking, asking

from relserve.errors import OptionError, Text2SqlError, UsageError


@pytest.fixture(scope="module")
def asked() -> Iterator[Asking]:
    """A connection for statements that leave nothing behind."""
    asked = asking()
    yield asked
    asked.con.close()


def subquery(sql: str) -> str:
    """A query in brackets, without what may end it."""
    return f"({sql.removesuffix(' -- the first').rstrip('; ')})"


N, ALL, EACH, TOP, QUOTED, TEXTS = map(subquery, ANSWERS.values())

PAIRS = [
    ("FROM text2sql('Count?')", f"FROM {N} AS text2sql"),
    ("SELECT n + 1 FROM text2sql('Count?') WHERE n > 2", f"SELECT n + 1 FROM {N} AS text2sql WHERE n > 2"),
    ("SELECT text2sql.n FROM text2sql('Count?');", f"SELECT text2sql.n FROM {N} AS text2sql;"),
    ("FROM text2sql('Strong?')", f"FROM {ALL} AS text2sql"),
    ("FROM text2sql('Count?') t(a)", f"FROM {N} t(a)"),
    ("SELECT a FROM TEXT2SQL ( 'Count?' ) AS t(a) -- text2sql(", f"SELECT a FROM {N} AS t(a) -- text2sql("),
    ('FROM "text2sql"(question := \'Count?\', effort := \'quick\')', f"FROM {N} AS text2sql"),
    ("FROM text2sql('The strongest?')", f"FROM {TOP} AS text2sql"),
    ("FROM text2sql('It''s \"quoted\"?') t", f"FROM {QUOTED} t"),
    ("FROM text2sql(E'It\\'s \"quoted\"?') t", f"FROM {QUOTED} t"),
    ("FROM text2sql($$Count?$$) t", f"FROM {N} t"),
    ("FROM text2sql('Co' || 'unt?') t", f"FROM {N} t"),
    (
        "SELECT b.name, n FROM beers b, text2sql('Count?') JOIN text2sql('Strings?') s ON s.id = b.id::TEXT",
        f"SELECT b.name, n FROM beers b, {N} AS text2sql JOIN {TEXTS} s ON s.id = b.id::TEXT",
    ),
    (
        "WITH c AS (FROM text2sql('Each?')) SELECT max(num), (SELECT n FROM text2sql('Count?')) AS m"
        " FROM c LEFT JOIN text2sql('Count?') AS q ON num < n",
        f"WITH c AS (FROM {EACH} AS text2sql) SELECT max(num), (SELECT n FROM {N} AS text2sql) AS m FROM c"
        f" LEFT JOIN {N} AS q ON num < n",
    ),
    (
        "SELECT 'text2sql(', n FROM text2sql('Count?') /* text2sql('x') */ UNION ALL "
        "SELECT name, id FROM text2sql('Strong?') ORDER BY 1",
        f"SELECT 'text2sql(', n FROM {N} AS text2sql /* text2sql('x') */ UNION ALL "
        f"SELECT name, id FROM {ALL} AS text2sql ORDER BY 1",
    ),
    (
        "SELECT name FROM beers WHERE id IN (SELECT id FROM text2sql('Strong?') LIMIT 2)",
        f"SELECT name FROM beers WHERE id IN (SELECT id FROM {ALL} AS text2sql LIMIT 2)",
    ),
    (
        "SELECT name FROM beers, LATERAL text2sql('Count?') WHERE id < n",
        f"SELECT name FROM beers, LATERAL {N} AS text2sql WHERE id < n",
    ),
    ("FROM (text2sql('Count?') JOIN beers ON id < n)", f"FROM ({N} AS text2sql JOIN beers ON id < n)"),
    (
        "PIVOT (FROM text2sql('Strong?')) ON name USING sum(abv)",
        f"PIVOT (FROM {ALL} AS text2sql) ON name USING sum(abv)",
    ),
    ("DESCRIBE FROM text2sql('Strong?')", f"DESCRIBE FROM {ALL} AS text2sql"),
    ("SUMMARIZE FROM text2sql('Strong?')", f"SUMMARIZE FROM {ALL} AS text2sql"),
]  # fmt: skip


@pytest.mark.cells(1)
@pytest.mark.parametrize(("sql", "expected"), PAIRS, ids=[sql for sql, _ in PAIRS])
def test_the_sql_stands_where_the_call_stood(asked: Asking, sql: str, expected: str) -> None:
    assert asked.rows(sql) == asked.rows(expected)
    assert asked.con.last_sql == expected
    relation, other = asked.con.sql(sql), asked.con.sql(expected)
    assert relation is not None
    assert other is not None
    assert (relation.columns, relation.fetchall()) == (other.columns, other.fetchall())
    assert asked.con.describe(sql).columns == asked.con.describe(expected).columns


WRITTEN = [
    ("CREATE TABLE made AS FROM text2sql('Count?')", "FROM made", [(3,)]),
    ("CREATE TABLE made(a INT); INSERT INTO made SELECT n FROM text2sql('Count?')", "FROM made", [(3,)]),
    ("CREATE VIEW made AS FROM text2sql('Count?')", "FROM made", [(3,)]),
    ("CREATE MACRO made() AS TABLE FROM text2sql('Count?')", "FROM made()", [(3,)]),
    ("PREPARE made AS SELECT n + $1 FROM text2sql('Count?')", "EXECUTE made(2)", [(5,)]),
    ("DELETE FROM beers USING text2sql('Count?') q WHERE id = n", "SELECT max(id) FROM beers", [(2,)]),
    ("UPDATE beers SET id = n + 6 FROM text2sql('Count?') WHERE id = 3", "SELECT max(id) FROM beers", [(9,)]),
    ("CREATE TEMP TABLE text2sql(a INT)", "SELECT count(*) FROM text2sql", [(0,)]),
]  # fmt: skip


@pytest.mark.cells(2)
@pytest.mark.parametrize(("sql", "look", "rows"), WRITTEN, ids=[sql for sql, *_ in WRITTEN])
def test_a_statement_that_writes_takes_the_rows(sql: str, look: str, rows: list[tuple[int]]) -> None:
    asked = asking()
    asked.rows(sql)
    num_asked = len(asked.pipeline.asked)
    assert asked.rows(look) == rows
    assert len(asked.pipeline.asked) == num_asked


PARAMETERS = [
    ("SELECT n + ? FROM text2sql(?) WHERE n > ?", [1, "Count?", 2]),
    ("SELECT n + $2 FROM text2sql($1) WHERE n > $3 - $2", ["Count?", 1, 3]),
    ("SELECT n + $more FROM text2sql($q, seed := $more)", {"q": "Count?", "more": 1}),
    ("SELECT n + 1 FROM text2sql($q, seed := $s) WHERE n > 2", {"q": "Count?", "s": 7}),
    ("SELECT n + 1 FROM text2sql(?)", ["Count?"]),
]


@pytest.mark.cells(1)
@pytest.mark.parametrize(("sql", "parameters"), PARAMETERS, ids=[sql for sql, _ in PARAMETERS])
def test_a_question_may_be_a_parameter(asked: Asking, sql: str, parameters: object) -> None:
    assert asked.rows(sql, parameters) == [(4,)]
    relation = asked.con.sql(sql, params=parameters)
    assert relation is not None
    assert relation.fetchall() == [(4,)]


@pytest.mark.long
def test_options_are_read_as_duckdb_computes_them() -> None:
    asked = asking()
    asked.rows(
        "FROM text2sql('Count?', tables := ['beers'], schema := 'main', evidence := 'e' || 'f', "
        "model := 'm', effort := 'thorough', candidates := 1 + 1, max_revisions => 0, "
        "deadline := INTERVAL 90 SECOND, seed := 3, examples := NULL)"
    )
    ((_, options),) = asked.pipeline.asked
    assert (options.tables, options.schema, options.evidence, options.model) == (
        ("beers",),
        "main",
        "ef",
        "m",
    )
    assert (options.effort, options.candidates, options.max_revisions) == ("thorough", 2, 0)
    assert (options.deadline_s, options.seed, options.examples) == (90, 3, None)


def test_questions_of_one_statement_are_asked_together_and_each_once() -> None:
    asked = asking()
    asked.rows(
        "SELECT 1 FROM text2sql('Count?') a, text2sql('Strings?') b, text2sql('Count?') c, "
        "text2sql('Strings?', seed := 1) d"
    )
    assert [questions for questions, _ in asked.pipeline.asked] == [
        ["Count?", "Strings?"],
        ["Strings?"],
    ]


def test_a_question_sees_what_the_statements_before_it_made() -> None:
    asked = asking({"How many?": "SELECT count(*) FROM made"})
    assert asked.rows("CREATE TABLE made AS FROM range(4); FROM text2sql('How many?')") == [(4,)]
    assert asked.rows("CREATE OR REPLACE TEMP TABLE made AS FROM range(5); FROM text2sql('How many?')") == [
        (5,)
    ]


@pytest.mark.long
def test_a_schema_in_use_is_looked_at() -> None:
    asked = asking({"How many?": "SELECT count(*) FROM made"})
    assert asked.rows(
        "CREATE SCHEMA s; CREATE TABLE s.made AS FROM range(6); USE s; FROM text2sql('How many?')"
    ) == [(6,)]


def test_a_schema_that_only_the_transaction_sees_is_refused_in_words() -> None:
    asked = asking()
    asked.rows("BEGIN; CREATE SCHEMA s; USE s")
    with pytest.raises(UsageError, match="COMMIT first"):
        asked.rows("FROM text2sql('Count?')")
    assert asked.rows("COMMIT; SELECT 1") == [(1,)]


REFUSED = [
    ("FROM text2sql()", UsageError, "needs a question"),
    ("FROM text2sql(NULL)", UsageError, "needs a question"),
    ("FROM text2sql(3)", UsageError, "not 3"),
    ("FROM text2sql('a', 'b')", UsageError, "question is given twice"),
    ("FROM text2sql('a', modle := 'x')", OptionError, "Did you mean model"),
    ("FROM text2sql('a', effort := 'much')", OptionError, "'quick', 'standard', 'thorough'"),
    ("SELECT name FROM beers, text2sql(name)", UsageError, "text2sql_query"),
    ("FROM text2sql((SELECT name FROM beers LIMIT 1))", UsageError, "constants or parameters"),
    ("CREATE MACRO m(name) AS TABLE FROM text2sql('Strong?')", UsageError, "macro that takes parameters"),
    (
        "CREATE OR REPLACE TEMP FUNCTION m() AS 1, (name) AS (SELECT max(id) FROM text2sql('Strong?'))",
        UsageError,
        "macro that takes parameters",
    ),
    ("EXPLAIN FROM text2sql(upper('count?'))", UsageError, "constants or parameters"),
    ("EXPLAIN FROM text2sql('Count?', seed := nextval('s'))", UsageError, "constants or parameters"),
    ("PREPARE p AS FROM text2sql($1)", UsageError, r"nothing is known of parameter \$1"),
]


@pytest.mark.parametrize(("sql", "kind", "message"), REFUSED, ids=[sql for sql, *_ in REFUSED])
def test_what_is_wrong_is_said(asked: Asking, sql: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        asked.rows(sql)


def test_a_question_without_sql_shows_where_it_stands() -> None:
    asked = asking()
    with pytest.raises(Text2SqlError, match="no table fits") as caught:
        asked.rows("SELECT 1\nFROM beers, text2sql('Who?') AS t")
    error = caught.value
    assert (error.stage, error.candidate) == ("candidates", "SELECT 1")
    assert "LINE 2: FROM beers, text2sql('Who?') AS t\n                    ^^^^^^^^^^^^^^^^" in str(error)


@pytest.mark.long
def test_duckdbs_errors_quote_the_users_text() -> None:
    asked = asking()
    with pytest.raises(Exception, match='"m" not found') as caught:
        asked.rows("SELECT n,\n  m FROM text2sql('Count?')")
    assert "LINE 2:   m FROM text2sql('Count?')\n          ^" in str(caught.value)
