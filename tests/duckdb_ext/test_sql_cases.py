"""Every statement form gives the rows of the plain UDF and asks as one relQuery a call site."""

from __future__ import annotations

from typing import Any

import pytest
from sql_cases import CASES, Case
from sql_fixtures import Made, make


@pytest.fixture(scope="module")
def pair() -> tuple[Made, Made]:
    """The same tables without and with prefetch."""
    return make(prefetch=False), make(prefetch=True)


@pytest.mark.parametrize("case", CASES, ids=[case.sql[:90] for case in CASES])
def test_rows_are_those_of_the_plain_udf(pair: tuple[Made, Made], case: Case) -> None:
    results = [_run(each, case) for each in pair]
    (plain_rows, plain_asked), (rows, asked) = results
    assert rows == plain_rows
    if case.num_prompts >= 0:
        assert asked[0] == case.num_prompts
    assert asked[0] <= plain_asked[0] or "LIMIT" in case.sql
    if case.num_relqueries >= 0:
        assert asked[1] == case.num_relqueries


def _run(made: Made, case: Case) -> tuple[list[tuple[Any, ...]], tuple[int, int]]:
    """Rows, sorted, and what was asked; changes are undone."""
    before = made.asked
    made.con.execute("CREATE OR REPLACE TEMP TABLE kept AS FROM z")
    rows = made.rows(case.sql)
    if case.shows:
        rows += made.rows(case.shows)
    made.con.execute(
        "DROP TABLE IF EXISTS made; DROP TABLE IF EXISTS tt; DELETE FROM z; INSERT INTO z FROM kept"
    )
    after = made.asked
    rows.sort(key=lambda row: [(value is not None, str(value)) for value in row])
    return rows, (after[0] - before[0], after[1] - before[1])


def test_one_relquery_of_all_rows_with_its_distinct_count() -> None:
    made = make()
    made.rows("SELECT llm_classify('c {}', title, choices := ['a', 'b']) FROM p")
    record = made.rows("SELECT function, rows, distinct_prompts, null_rows, state FROM llm_queries()")
    assert record == [("llm_classify", 10000, 40, 200, "done")]


def test_one_filter_is_asked_only_where_the_other_said_yes() -> None:
    made = make()
    made.rows("SELECT id FROM p WHERE llm_filter('x {}', id) AND llm_filter('y {}', body) AND id < 4000")
    asked = dict(made.rows("SELECT template, sum(distinct_prompts) FROM llm_queries() GROUP BY ALL"))
    # the second has fewer distinct prompts and comes first; the first is asked for a sample besides
    passed = made.rows("SELECT count(*) FROM p WHERE id < 4000 AND llm_filter('y {}', body)")[0][0]
    assert asked["y {}"] == 500
    assert passed <= asked["x {}"] <= passed + 64
