"""The sides of benchmarks.analytics: all give the same rows, and each does without what its name says."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from benchmarks.analytics import in_turn, queries
from benchmarks.analytics_sides import AnalyticsSide, sides
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine

NUM_ROWS, NUM_KINDS = 300, 6
FILTERS = "llm_filter('Is {} new?', name) AND llm_filter('Is {} rare?', name)"
QUERY = f"SELECT id FROM items WHERE {FILTERS} ORDER BY id"
KINDS = "SELECT DISTINCT llm('Explain {}', kind) AS said FROM items ORDER BY said"


def items() -> duckdb.DuckDBPyConnection:
    """A table in which every name stands once and every kind fifty times."""
    raw = duckdb.connect()
    columns = f"i AS id, 'name ' || i AS name, 'kind ' || i % {NUM_KINDS} AS kind"
    raw.execute(f"CREATE TABLE items AS SELECT {columns} FROM range({NUM_ROWS}) t(i)")
    return raw


def answer(prompt: str, _: Submission) -> str:
    """Everything is new; rare is what has a name that ends in 7."""
    return "yes" if "new?" in prompt or "7 rare?" in prompt else "no"


@pytest.fixture
def compared() -> Iterator[dict[str, AnalyticsSide]]:
    found = sides(ScriptedEngine(answer), items)
    yield found
    for side in found.values():
        side.con.close()


def prompts_of(compared: dict[str, AnalyticsSide], query: str) -> dict[str, int]:
    """The prompts that each side asks for a query, after a check that their rows are equal."""
    expected = compared["row by row"].rows(query)
    for name, side in list(compared.items())[1:]:
        assert side.rows(query) == expected, name
    return {name: side.num_prompts for name, side in compared.items()}


@pytest.mark.long
def test_only_ours_asks_the_better_filter_first(compared: dict[str, AnalyticsSide]) -> None:
    asked = prompts_of(compared, QUERY)
    assert asked["row by row"] == asked["batch"] == asked["filters as written"] == 2 * NUM_ROWS
    assert asked["ours"] < 1.5 * NUM_ROWS


def test_only_folding_asks_equal_prompts_once(compared: dict[str, AnalyticsSide]) -> None:
    asked = prompts_of(compared, KINDS)
    assert asked["row by row"] == asked["batch"] == asked["without folding"] == NUM_ROWS
    assert asked["ours"] == asked["filters as written"] == asked["rows as they come"] == NUM_KINDS


def test_the_first_side_changes_with_each_query() -> None:
    assert ["".join(in_turn("abc", number)) for number in range(4)] == ["abc", "bca", "cab", "abc"]


def test_there_are_sixteen_queries() -> None:
    assert len(queries()) == 16
