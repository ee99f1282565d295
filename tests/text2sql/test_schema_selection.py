"""Schema selection: small schemas pass whole; of large ones code, then the model, takes what is asked for."""

import json
import re

from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from relserve.text2sql.stages.schema_selection import connected, part_of
from tests.text2sql.databases import BEERS, MemoryDatabase
from tests.text2sql.replies import engine_of, fenced, session_of

QUESTION = "How many beers come from the city Oslo?"
SQL = "SELECT count(*) FROM beers JOIN breweries ON brewery_id = breweries.id WHERE city = 'Oslo'"


def column(name: str, points_to: str | None = None) -> Column:
    return Column(
        name, ColumnKind.INT, "INTEGER", references=Reference(points_to, "id") if points_to else None
    )


def filler(number: int) -> Table:
    return Table(f"ledger_{number}", tuple(column(f"amount_{at}_{number}") for at in range(20)))


LARGE = Schema((*map(filler, range(60)), *BEERS.tables))
TABLES = re.compile(r"CREATE TABLE (\w+)")


def names_in(prompt: str) -> list[str]:
    return TABLES.findall(prompt)


def test_a_small_schema_passes_whole_and_is_not_asked_about() -> None:
    engine = engine_of({"keywords": "[]", "candidates": fenced(SQL)})
    run([QUESTION], MemoryDatabase(), session_of(engine), Text2SqlOptions(effort="thorough"))
    assert [s.stage for s in engine.submissions] == ["keywords", "candidates"]
    assert names_in(engine.submissions[1].prompts[0]) == ["breweries", "beers"]


def test_of_a_large_schema_the_model_sees_what_code_leaves_and_the_candidates_what_it_chose() -> None:
    chosen = json.dumps({"beers": ["name"], "BREWERIES": ["no such column"], "casks": []})
    engine = engine_of({"schema_selection": f"I take ```json\n{chosen}\n```", "candidates": fenced(SQL)})
    (outcome,) = run([QUESTION], MemoryDatabase(LARGE), session_of(engine))
    assert outcome.sql == SQL
    assert [s.stage for s in engine.submissions] == ["schema_selection", "candidates"]
    asked, written = (s.prompts[0] for s in engine.submissions)
    assert names_in(asked) == names_in(written) == ["breweries", "beers"]
    assert "abv" in asked
    assert "abv" not in written
    assert "brewery_id" in written  # joins the two
    assert "city" in written  # holds the value Oslo


def test_quick_leaves_it_to_code() -> None:
    engine = engine_of({"candidates": fenced(SQL)})
    run([QUESTION], MemoryDatabase(LARGE), session_of(engine), Text2SqlOptions(effort="quick"))
    assert [s.stage for s in engine.submissions] == ["candidates"]
    assert names_in(engine.submissions[0].prompts[0]) == ["breweries", "beers"]


def test_a_date_that_can_be_read_in_two_ways_is_left_to_the_model() -> None:
    engine = engine_of({"candidates": fenced(SQL)})
    quick = Text2SqlOptions(effort="quick")
    (outcome,) = run(["Beers since 03/04/2024"], MemoryDatabase(LARGE), session_of(engine), quick)
    assert outcome.sql == SQL


def test_nonsense_leaves_what_code_took() -> None:
    engine = engine_of({"schema_selection": "beers!", "candidates": fenced(SQL)})
    (outcome,) = run([QUESTION], MemoryDatabase(LARGE), session_of(engine))
    assert outcome.sql == SQL
    (notes,) = (step.notes for step in outcome.steps if step.stage == "schema_selection")
    assert notes[-1] == "the model chose no tables that exist; all of these stay"


def test_a_question_about_nothing_in_a_large_schema_is_refused() -> None:
    (outcome,) = run(["Wie viele Kinder?"], MemoryDatabase(LARGE), session_of(engine_of({})))
    assert outcome.failure is not None
    assert outcome.failure.stage == "schema_selection"
    assert "no table fits: the question names none of 62" in outcome.failure.problem


def test_the_model_may_say_that_no_table_fits() -> None:
    (outcome,) = run([QUESTION], MemoryDatabase(LARGE), session_of(engine_of({"schema_selection": "{}"})))
    assert outcome.failure is not None
    assert "no table fits: the model found none" in outcome.failure.problem


CHAIN = Schema(
    (
        Table("a", (column("id"), column("b_id", "b"), column("x")), key=("id",)),
        Table("b", (column("id"), column("c_id", "c"), column("y")), key=("id",)),
        Table("c", (column("id"), column("z")), key=("id",)),
        Table("d", (column("w"),)),
    )
)


def test_tables_on_the_way_between_two_are_kept() -> None:
    assert connected(CHAIN, [0, 2]) == {0, 1, 2}
    assert connected(CHAIN, [0, 3]) == {0, 3}  # nothing joins them
    assert connected(CHAIN, []) == set()


def test_a_part_keeps_keys_and_what_joins_and_no_more_than_allowed() -> None:
    part = part_of(CHAIN, {0, 1, 2}, [2])
    assert {t.name: [c.name for c in t.columns] for t in part.tables} == {
        "a": ["id", "b_id", "x"], "b": ["id", "c_id"], "c": ["id"],
    }  # fmt: skip
    assert [t.key for t in part.tables] == [("id",)] * 3
    assert len(part_of(CHAIN, {0, 1, 2}, [2], most=7).columns) == 7
    assert len(part_of(CHAIN, {3}, []).tables) == 0
