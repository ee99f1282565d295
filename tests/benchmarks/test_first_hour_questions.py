"""The first hour's questions as the linker reads them, and when a step counts as failed."""

import os
import sys
from pathlib import Path

import duckdb
import pytest

from benchmarks.hour.asked import ANSWERABLE, UNANSWERABLE, UNLABELLED, questions
from benchmarks.hour.steps import NewcomerStep, take
from benchmarks.text2sql.questions import GoldQuestion
from relserve.linking.pointer import linked_question
from relserve.linking.unlinked import unlinked_words
from relserve.text2sql.duckdb_database import DuckDBDatabase
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.retrieval.library import ValueLibrary

ASKED = questions()


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> DuckDBDatabase:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE messages AS {UNLABELLED}")
    return DuckDBDatabase(con, Text2SqlOptions(), library=ValueLibrary(tmp_path_factory.mktemp("values")))


def test_half_of_the_questions_are_for_what_no_column_says() -> None:
    kinds = [each.shape for each in ASKED]
    assert kinds == [ANSWERABLE] * 20 + [UNANSWERABLE] * 20
    assert len(questions(4)) == 10


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.text)
def test_words_are_unlinked_where_no_column_answers(asked: GoldQuestion, messages: DuckDBDatabase) -> None:
    schema = messages.schema()
    linked = linked_question(schema, asked.text, messages.values())
    assert bool(unlinked_words(schema, linked)) == (asked.shape == UNANSWERABLE)


@pytest.mark.parametrize("asked", [each for each in ASKED if each.gold], ids=lambda asked: asked.text)
def test_gold_queries_give_rows(asked: GoldQuestion, messages: DuckDBDatabase) -> None:
    for gold in asked.gold:
        assert messages.rows(gold).table.num_rows


@pytest.mark.parametrize(("says", "status", "went_well"), [
    ("hello", 0, True), ("goodbye", 0, False), ("hello", 1, False), ("", 0, True),
])  # fmt: skip
def test_a_step_is_judged_by_its_status_and_what_it_says(
    tmp_path: Path, says: str, status: int, went_well: bool
) -> None:
    step = NewcomerStep("analyst", "greets", (sys.executable, "-S", "-c", "print('hello')"), says, status)
    assert take(step, tmp_path, os.environ).went_well is went_well
