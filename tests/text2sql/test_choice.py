"""Choice: by results, whatever their order, their columns' order and their types; by unit tests."""

import duckdb
import pytest

from relserve.text2sql.cases.database import ANYTHING, Allowance
from relserve.text2sql.cases.results import ResultSet, ShownRows
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from relserve.text2sql.stages.choice import wants_order
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import Told, engine_of, fenced, session_of

UP, DOWN = "SELECT name FROM beers ORDER BY abv", "SELECT name FROM beers ORDER BY abv DESC"
METHODS = ("direct", "divide_and_conquer", "query_plan")


def result(sql: str) -> ResultSet:
    return ResultSet.of(ShownRows(duckdb.sql(sql).to_arrow_table()))


@pytest.mark.parametrize(
    ("one", "other", "same_set", "same_order"),
    [
        ("SELECT 1 AS a, 'x' AS b", "SELECT 'x' AS c, 1.0::DOUBLE AS d", True, True),
        ("VALUES (1), (2)", "VALUES (2), (1)", True, False),
        ("VALUES (1), (1)", "VALUES (1)", False, False),
        ("SELECT 0.1 + 0.2", "SELECT 0.3::DECIMAL(3, 1)", True, True),
        ("SELECT 1", "SELECT '1'", False, False),
        ("SELECT NULL", "SELECT 'None'", False, False),
        ("SELECT true", "SELECT 'True'", False, False),
        ("SELECT [1, 2]", "SELECT [1, 2]", True, True),
        ("SELECT 'nan'::DOUBLE", "SELECT 'nan'::DOUBLE", True, True),
        ("SELECT DATE '2024-01-01'", "SELECT DATE '2024-01-01'", True, True),
        ("SELECT 12345678901", "SELECT 12345678902", False, False),
        ("SELECT 12345678901", "SELECT 12345678901.00::DOUBLE", True, True),
        ("SELECT 12345678901", "SELECT 12345678901.00::DECIMAL(20, 2)", True, True),
        ("SELECT 12345678901.01::DECIMAL(20, 2)", "SELECT 12345678901.02::DECIMAL(20, 2)", False, False),
        ("SELECT 1.50::DECIMAL(20, 2)", "SELECT 1.5::DOUBLE", True, True),
        ("SELECT 0.1::DOUBLE + 0.2::DOUBLE", "SELECT 0.3::DOUBLE", True, True),
        ("SELECT 1e300", "SELECT 1e300", True, True),
        ("SELECT '\\u0001'", "SELECT '1'", False, False),
    ],
)
def test_results_are_the_same(one: str, other: str, same_set: bool, same_order: bool) -> None:
    left, right = result(one), result(other)
    assert (left.as_set == right.as_set, left.in_order == right.in_order) == (same_set, same_order)


def test_results_that_were_cut_vote_by_their_sql() -> None:
    class Cut(MemoryDatabase):
        def rows(self, sql: str, within: Allowance = ANYTHING) -> ShownRows:
            return ShownRows(super().rows(sql).table.slice(0, 1), is_cut=True)

    replies = dict(zip(METHODS, (UP, DOWN, DOWN), strict=True))
    engine = engine_of({f"candidates/{name}": fenced(sql) for name, sql in replies.items()})
    (outcome,) = run(["Which names?"], Cut(), session_of(engine))
    assert outcome.sql == DOWN
    assert [candidate.votes for candidate in outcome.candidates] == [1, 2, 2]


def test_void_results_are_told_apart() -> None:
    assert result("SELECT 1 WHERE false").is_void
    assert result("SELECT NULL, 0").is_void
    assert not result("SELECT 0, 1").is_void
    assert not result("VALUES (0), (0)").is_void


def test_a_result_is_shown_short_and_as_data() -> None:
    shown = result("SELECT i AS \"a\nb\", '<x>' AS s, NULL AS n FROM range(20) t(i)").shown
    assert shown.splitlines()[0] == '"a b" | "s" | "n"'
    assert shown.splitlines()[1] == '"0" | "\\u003cx>" | NULL'
    assert shown.splitlines()[-1] == "and 15 rows more"


def chosen(
    question: str, queries: tuple[str, ...], replies: dict[str, Told] | None = None, **options: str
) -> str:
    told: dict[str, Told] = {
        f"candidates/{name}": fenced(sql) for name, sql in zip(METHODS, queries, strict=True)
    }
    engine = engine_of(told | (replies or {}))
    given = Text2SqlOptions(candidates=3, **options)  # type: ignore[arg-type]
    (outcome,) = run([question], MemoryDatabase(), session_of(engine), given)
    assert outcome.sql is not None
    return outcome.sql


def test_the_order_of_rows_counts_only_where_the_question_asks_for_one() -> None:
    middle = "SELECT name FROM beers WHERE id < 3"
    assert chosen("Which beers are there?", (middle, UP, DOWN)) == UP
    assert chosen("Which beers are there, sorted by abv?", (middle, UP, DOWN)) == middle
    assert not wants_order("Which order has the top customer?")
    assert wants_order("List them in alphabetical order")


def test_among_equals_a_result_with_rows_comes_first() -> None:
    empty = "SELECT name FROM beers WHERE style = 'Ale'"
    other = "SELECT id FROM beers"
    assert chosen("Beers?", (empty, other, UP), {"revision": fenced(empty)}) == other


def test_tests_come_before_the_vote() -> None:
    replies: dict[str, Told] = {
        "keywords": "[]",
        "unit_tests": '["It shows ids."]',
        "evaluation": lambda prompt: "[true]" if "SELECT id" in prompt.split("query: ")[-1] else "[false]",
    }
    queries = (UP, DOWN, "SELECT id FROM beers")
    assert chosen("Beers?", queries) == UP
    assert chosen("Beers?", queries, replies, effort="thorough") == queries[2]


@pytest.mark.parametrize("verdict", ["all true", "[true]", "[true, true, true]"])
def test_a_verdict_that_cannot_be_read_passes_no_test(verdict: str) -> None:
    replies: dict[str, Told] = {"keywords": "[]", "unit_tests": '["a", "b", 3]', "evaluation": verdict}
    assert chosen("Beers?", (UP, DOWN, "SELECT id FROM beers"), replies, effort="thorough") == UP


def test_without_tests_the_vote_decides() -> None:
    replies: dict[str, Told] = {"keywords": "[]", "unit_tests": "I would rather not."}
    assert chosen("Beers?", (UP, DOWN, "SELECT id FROM beers"), replies, effort="thorough") == UP
