"""A statement whose rows failed ends with one warning, at the user's own line."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sql_fixtures import Made, make

from relserve.call.relquery import Submission
from relserve.errors import Failure, FailureKind, RowError, RowsFailedWarning


def failing(prompt: str, submission: Submission) -> str | Failure:
    """Prompts that end in 7 are too long, those that end in 3 get nonsense."""
    if prompt.endswith("7"):
        return Failure(FailureKind.OVER_CONTEXT, "too long")
    return "perhaps" if prompt.endswith("3") else "yes"


@pytest.fixture
def bad() -> Made:
    return make(script=failing)


def warned(run: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [each for each in caught if each.category is RowsFailedWarning]


SQL = "SELECT llm_filter('x {}', id) FROM p WHERE id < 100"
TEXT = "20 of 100 rows failed and are NULL: 10 over context, 10 unparsable; see llm_errors(), statement 1"


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "run",
    [
        lambda con: con.execute(SQL).fetchall(),
        lambda con: con.execute(SQL).df(),
        lambda con: con.sql(SQL).fetchall(),
        lambda con: repr(con.sql(SQL)),
        lambda con: con.sql(SQL).filter("true").to_arrow_table(),
        lambda con: con.execute(f"CREATE TABLE n AS {SQL}"),
        lambda con: con.sql(f"CREATE TABLE n AS {SQL}"),
    ],
)
def test_one_warning_at_the_users_line(bad: Made, run: Any) -> None:
    (warning,) = warned(lambda: run(bad.con))
    assert str(warning.message) == TEXT
    assert warning.filename == __file__


def test_chunk_by_chunk_too() -> None:
    made = make(script=failing, prefetch=False)
    (warning,) = warned(lambda: made.con.execute(SQL).fetchall())
    assert str(warning.message) == TEXT


def test_each_statement_warns_of_its_own_rows(bad: Made) -> None:
    first, second = warned(lambda: [bad.rows(SQL), bad.rows(SQL.replace("100", "10"))])
    assert str(first.message) == TEXT
    assert str(second.message).startswith("2 of 10 rows failed")
    assert str(second.message).endswith("statement 2")
    one = warned(lambda: bad.rows("SELECT llm_filter('x {}', 7)"))
    assert str(one[0].message).startswith("1 of 1 rows failed and is NULL: 1 over context")


@pytest.mark.long
def test_several_calls_count_as_answers(bad: Made) -> None:
    (warning,) = warned(lambda: bad.rows("SELECT llm_filter('x {}', id), llm_filter('y {}', id) FROM p"))
    assert "4,000 of 20,000 answers failed" in str(warning.message)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "sql",
    ["SELECT llm_filter('x {}', id * 10) FROM p", "SELECT llm('x {}', NULL)", "SELECT 1",
     f"EXPLAIN {SQL}", "SELECT * FROM llm_errors()"],
)  # fmt: skip
def test_no_warning_where_nothing_failed(bad: Made, sql: str) -> None:
    assert not warned(lambda: bad.rows(sql))


def test_raise_raises_and_does_not_warn_too(bad: Made) -> None:
    def run() -> None:
        with pytest.raises(RowError):
            bad.rows("SELECT llm_filter('x {}', id, on_error := 'raise') FROM p")

    assert not warned(run)


def test_a_filter_makes_it_an_error(bad: Made) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowsFailedWarning)
        with pytest.raises(RowsFailedWarning, match="see llm_errors"):
            bad.con.execute(SQL)
    assert bad.rows("SELECT 1") == [(1,)]


def test_the_errors_of_one_statement_can_be_told_apart(bad: Made) -> None:
    bad.rows("SELECT llm_filter('x {}', 'a3')")
    bad.rows(SQL)
    last = "WHERE statement = (SELECT max(statement) FROM llm_errors())"
    assert bad.rows(f"SELECT statement, sum(rows) FROM llm_errors() {last} GROUP BY ALL") == [(2, 20)]
    assert bad.rows("SELECT statement, function FROM llm_queries()") == [(1, "llm_filter"), (2, "llm_filter")]
    assert bad.rows(
        "SELECT bool_and(failed_at >= started) FROM llm_errors() JOIN llm_queries() USING (rel_id)"
    ) == [(True,)]


def test_statements_of_cursors_have_numbers_of_their_own(bad: Made) -> None:
    with bad.con.cursor() as cursor:
        cursor.execute("SELECT llm_filter('x {}', 1), llm_filter('y {}', 2)").fetchall()
    bad.rows("SELECT llm_filter('x {}', 1)")
    assert bad.rows("SELECT statement FROM llm_queries()") == [(1,), (1,), (2,)]
