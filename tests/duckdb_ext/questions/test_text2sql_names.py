"""Tables in the SQL of text2sql(): what they meant where it was checked, they mean where it runs."""

from __future__ import annotations

import pytest
from questions.recorded_answers import asking

from relserve.errors import UsageError
from relserve.text2sql.prompts.replies import bare

COUNT = "SELECT count(*) AS n FROM beers"
HIDING = [
    ("WITH beers AS (SELECT 1 AS x) SELECT n FROM text2sql('Q?')", COUNT),
    (
        "WITH RECURSIVE beers(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT a, b FROM beers WHERE false) "
        "SELECT n FROM text2sql('Q?')",
        COUNT,
    ),
    ('SELECT n FROM (WITH "Beers"(a) AS (SELECT 1) SELECT n FROM text2sql(\'Q?\'))', COUNT),
    (
        "WITH beers AS (SELECT 1 AS x) FROM text2sql('Q?')",
        "SELECT (SELECT count(*) FROM beers) + (WITH beers AS (SELECT 0 z) SELECT min(z) FROM beers) AS n",
    ),
    (
        "WITH beers AS (SELECT 1 AS x) FROM text2sql('Q?')",
        "SELECT count(beers.name) FROM /* é */ Beers JOIN \"beers\" b USING (id)",
    ),
    ("BEGIN; CREATE TEMP TABLE beers AS SELECT 1 AS x; FROM text2sql('Q?')", COUNT),
    ("CREATE MACRO m() AS TABLE FROM text2sql('Q?'); WITH beers AS (SELECT 1 AS x) FROM m()", COUNT),
]  # fmt: skip


@pytest.mark.cells(1)
@pytest.mark.parametrize(("sql", "answer"), HIDING)
def test_a_table_that_the_statement_hides_is_read_all_the_same(sql: str, answer: str) -> None:
    asked = asking({"Q?": answer})
    assert asked.rows(sql) == [(3,)]


def test_where_no_longer_name_can_stand_it_is_refused() -> None:
    asked = asking({"Q?": "SELECT count(*) AS n FROM (TABLE beers)"})
    assert asked.rows("FROM text2sql('Q?')") == [(3,)]
    with pytest.raises(UsageError, match='"beers" means another table in your statement'):
        asked.rows("WITH beers AS (SELECT 1 AS x) FROM text2sql('Q?')")


def test_a_table_that_the_transaction_dropped_is_refused() -> None:
    asked = asking({"Q?": COUNT})
    with pytest.raises(UsageError, match='"beers" is no table'):
        asked.rows("BEGIN; DROP TABLE beers; FROM text2sql('Q?')")


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "sql",
    ["SELECT 1 AS a", "SELECT 1 AS a; -- all", "SELECT 1 AS a /* b */ ;; --", "SELECT 1 AS a\n-- b;\n;"],
)
def test_only_the_statement_itself_is_put_in(sql: str) -> None:
    assert bare(sql) == "SELECT 1 AS a"
    assert asking({"Q?": sql}).rows("SELECT a FROM text2sql('Q?') WHERE true") == [(1,)]


def test_what_looks_like_an_end_is_kept() -> None:
    for sql in ("SELECT ';--'", "SELECT 1 -- a\n+ 2", "FROM range(2)", "SELECT 'é' AS \"é;\""):
        assert bare(sql + "; -- é") == sql
