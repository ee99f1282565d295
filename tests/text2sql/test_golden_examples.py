"""A user's own examples of questions and SQL."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from relserve.errors import LimitError, UsageError
from relserve.text2sql.guard.limits import StatementLimits
from relserve.text2sql.retrieval import golden
from relserve.text2sql.retrieval.golden import GoldenExamples

EXAMPLES = [
    ("How many beers are there?", "SELECT count(*) FROM beers"),
    ("Which breweries are the oldest?", "SELECT name FROM breweries ORDER BY founded"),
    ("What does a beer of Orval cost?", "SELECT price FROM beers"),
    (None, "SELECT 1"),
    ("no answer", None),
]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE examples (note VARCHAR, Question VARCHAR, query VARCHAR)")
        con.executemany("INSERT INTO examples VALUES (NULL, ?, ?)", EXAMPLES)
        yield con


def test_the_nearest_examples_come_first(con: duckdb.DuckDBPyConnection) -> None:
    golden = GoldenExamples(con, "examples")
    assert golden.nearest("the cost of beers by Orval", 1) == [EXAMPLES[2]]
    assert golden.nearest("the oldest ones, please", 2) == [EXAMPLES[1], EXAMPLES[0]]
    assert golden.nearest("no answer", 5) == list(EXAMPLES[:3])
    assert GoldenExamples(con, "main.examples").nearest("the oldest brewery", 3)[0] == EXAMPLES[1]


@pytest.mark.parametrize("question", ["", "?!", '"', "NOT OR AND", 'a" OR text:*', "\x00", "NEAR(beers)"])
def test_any_question_may_be_asked(con: duckdb.DuckDBPyConnection, question: str) -> None:
    assert len(GoldenExamples(con, "examples").nearest(question, 3)) == 3


def test_a_table_without_these_columns_is_an_error_that_says_so(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE other (question VARCHAR, answer VARCHAR)")
    with pytest.raises(UsageError, match=r"columns question and sql \(or query\); it has question, answer"):
        GoldenExamples(con, "other")
    with pytest.raises(UsageError, match="no table 'example'; the nearest are examples"):
        GoldenExamples(con, "example")


def test_long_examples_are_left_out(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO examples VALUES (NULL, repeat('beer ', 1000), 'SELECT 1')")
    con.execute("INSERT INTO examples VALUES (NULL, 'beer', repeat('SELECT 1 ', 1000))")
    assert len(GoldenExamples(con, "examples").nearest("beer", 100)) == 3


def test_a_view_that_takes_too_long_is_ended(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute(
        "CREATE VIEW slow AS SELECT 'q' AS question, sum(i)::VARCHAR AS sql "
        "FROM range(1000000000000000000) t(i)"
    )
    monkeypatch.setattr(golden, "LIMITS", StatementLimits(seconds=0.3))
    with pytest.raises(LimitError):
        GoldenExamples(con, "slow")
