"""A model that answers with handles: shuffles vote; disagreement refuses, with what it can answer."""

import json
import re
from pathlib import Path

import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.errors import UsageError
from relserve.linking.schema import Column, ColumnKind, Schema, Table
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import QuestionOutcome, run
from relserve.text2sql.stages.pointing import nearest_questions
from relserve.text2sql.writers import writes_handles
from tests.text2sql.databases import BEERS, MemoryDatabase
from tests.text2sql.replies import Told, engine_of, session_of

ORDERS = Schema((
    Table("orders", (
        Column("customer", ColumnKind.TEXT, "VARCHAR", values=("Ann", "Bo")),
        Column("amount", ColumnKind.TEXT, "VARCHAR", values=("3.50 EUR", "n/a")),
        Column("angry", ColumnKind.BOOL, "BOOLEAN"),
        Column("return", ColumnKind.BOOL, "BOOLEAN"),
        Column("rating", ColumnKind.INT, "BIGINT"),
    ), num_rows=2),
))  # fmt: skip
FILL = "CREATE TABLE orders (customer VARCHAR, amount VARCHAR, angry BOOLEAN, return BOOLEAN, rating BIGINT)"
QUESTION = "How many beers have style IPA?"
SQL = """SELECT count(*) FROM "beers" WHERE "style" = 'IPA'"""


def pointer(told: Told) -> ScriptedEngine:
    return engine_of({"candidates": told}, model="tiny-sql")


def right(prompt: str) -> str:
    """The answer of a model that understands the question, under any shuffle."""
    (table,) = re.findall(r"beer \+s (t\d+) :", prompt)
    (style,) = re.findall(r"style (c\d+) text", prompt)
    return f"select count ( * ) from {table} where {style} = v0"


def sometimes(num_right: int) -> Told:
    """Right so many times, then each time something else."""
    seen: list[str] = []

    def reply(prompt: str) -> str:
        seen.append(prompt)
        (table,) = re.findall(r"beer \+s (t\d+) :", prompt)
        columns = re.findall(r"(c\d+) ", prompt[prompt.index(table) :])
        others = f"select {columns[len(seen) % 4]} from {table}"
        return right(prompt) if len(seen) <= num_right else others

    return reply


def test_five_shuffles_are_one_relquery_each_with_its_grammar() -> None:
    engine, database = pointer(right), MemoryDatabase()
    (outcome,) = run([QUESTION], database, session_of(engine))
    assert outcome.failure is None
    assert outcome.sql == SQL
    (submission,) = engine.submissions
    assert submission.stage == "candidates"
    assert len(set(submission.prompts)) == 5
    assert submission.grammars is not None
    assert len({grammar.ebnf for grammar in submission.grammars if grammar}) == 5
    assert [candidate.votes for candidate in outcome.candidates] == [5] * 5
    assert (database.explained, database.ran) == ([SQL], [])


@pytest.mark.parametrize("question", ["Write me a poem", "What is the meaning of life?", "42"])
def test_a_question_about_nothing_of_the_tables_is_refused_unasked(question: str) -> None:
    engine = pointer(right)
    (outcome,) = run([question], MemoryDatabase(), session_of(engine))
    assert outcome.sql is None
    assert "names nothing of the tables" in str(outcome.failure)
    assert "How many breweries are there?" in str(outcome.failure)
    assert engine.submissions == []


def test_prompts_are_the_same_each_time_and_others_with_another_seed() -> None:
    engine = pointer(right)
    for seed in (None, None, 7):
        run([QUESTION], MemoryDatabase(), session_of(engine), Text2SqlOptions(seed=seed))
    first, again, other = (submission.prompts for submission in engine.submissions)
    assert first == again != other


def test_a_majority_decides() -> None:
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(pointer(sometimes(3))))
    assert outcome.sql == SQL
    assert sorted(candidate.votes for candidate in outcome.candidates)[-3:] == [3, 3, 3]


@pytest.mark.parametrize(("num_right", "why"), [(2, "at most 2 of its 5 answers agree")])
def test_disagreement_refuses_with_questions_that_it_can_answer(num_right: int, why: str) -> None:
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(pointer(sometimes(num_right))))
    assert outcome.sql is None
    assert outcome.failure is not None
    assert why in outcome.failure.problem
    assert "\n  How many beers have style 'IPA'?" in outcome.failure.problem
    assert outcome.failure.candidate == SQL


def test_answers_without_a_meaning_refuse() -> None:
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(pointer("select select")))
    assert outcome.failure is not None
    assert "it has no answer to it" in outcome.failure.problem
    assert any("an answer has no meaning" in line for line in outcome.failure.tried)


def test_an_answer_that_leaves_out_a_value_of_the_question_is_none() -> None:
    def without(prompt: str) -> str:
        return right(prompt).partition(" where")[0]

    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(pointer(without)))
    assert outcome.sql is None
    assert outcome.failure is not None
    assert any("it leaves out 'IPA'" in line for line in outcome.failure.tried)


@pytest.mark.parametrize(("question", "answer", "says"), [
    ("Which customers are angry?", "select distinct customer from T", '"angry".'),
    ("Which angry orders are there?", "select * from T", '"angry".'),
    ("What is the total amount?", "select sum ( rating ) from T", '"amount" (VARCHAR, of which'),
    ("What is the number of ratings per customer?", "select customer , count ( * ) from T group by customer",
     '"ratings".'),
])  # fmt: skip
def test_an_answer_that_leaves_out_a_column_of_the_question_is_none(
    question: str, answer: str, says: str
) -> None:
    outcome = ordered(question, answer)
    assert outcome.sql is None
    assert f"each leaves out {says}" in outcome.failure.problem


@pytest.mark.parametrize(("question", "answer"), [
    ("Show all orders with customer, amount and angry", "select customer , amount , angry from T"),
    ("Show the orders with their amount", "select * from T"),
    ("How many orders are not angry?", "select count ( * ) from T where angry = false"),
    ("How many rows are there?", "select count ( * ) from T"),
    ("How many customers have a rating?", "select count ( * ) from T where rating is not null"),
    ("Return the rating of each customer", "select customer , rating from T"),  # it asks
])  # fmt: skip
def test_an_answer_that_shows_or_uses_the_columns_is_one(question: str, answer: str) -> None:
    assert ordered(question, answer).sql is not None


def ordered(question: str, answer: str) -> QuestionOutcome:
    """A question about ORDERS; the answer has names in place of columns' handles, and T for the table's."""

    def reply(prompt: str) -> str:
        handles = dict(re.findall(r"(\w+) (c\d+) ", prompt))
        (table,) = re.findall(r"order \+s (t\d+) :", prompt)
        return " ".join(handles.get(word, word) for word in answer.replace("T", table).split())

    (outcome,) = run([question], MemoryDatabase(ORDERS, FILL), session_of(pointer(reply)))
    return outcome


def test_a_word_that_is_hardly_a_value_may_be_left_out() -> None:
    (outcome,) = run([f"{QUESTION[:-1]} today?"], MemoryDatabase(), session_of(pointer(right)))
    assert outcome.sql == SQL


def test_too_many_values_are_said() -> None:
    question = "Show beers with abv " + " or ".join(str(number) for number in range(2, 20))
    (outcome,) = run([question], MemoryDatabase(), session_of(pointer(right)))
    assert outcome.failure is not None
    assert outcome.failure.stage == "candidates"
    assert "values, a prompt holds 10" in outcome.failure.problem


def test_a_large_schema_is_cut_to_the_handles() -> None:
    others = tuple(
        Table(f"thing{number}", tuple(Column(f"f{at}", ColumnKind.INT, "INTEGER") for at in range(10)))
        for number in range(30)
    )
    (outcome,) = run([QUESTION], MemoryDatabase(Schema((*others, *BEERS.tables))), session_of(pointer(right)))
    assert outcome.failure is None
    assert outcome.sql == SQL


def test_suggestions_are_the_nearest_in_words() -> None:
    assert nearest_questions(BEERS, "mean alcohol content by abv")[0].endswith("abv of beers?")
    near = nearest_questions(BEERS, "breweries in Oslo")
    assert near[0] in ("How many breweries have city 'Oslo'?", "Show breweries with city 'Oslo'.")
    assert len(near) == len(set(near)) == 3


def test_suggestions_leave_out_numbers_of_a_name_and_quote_what_holds_quotes() -> None:
    bar = Column("place", ColumnKind.TEXT, "VARCHAR", values=("Bar 'Q'",))
    near = nearest_questions(Schema((Table("complaints_2026", (bar,)),)), "place of complaints", most=9)
    assert "How many complaints have place \"Bar 'Q'\"?" in near
    assert not [each for each in near if "2026" in each]
    assert nearest_questions(Schema((Table("2026", (bar,)),)), "place")[0].count("2026")


def test_who_writes_handles_is_told_by_name_or_by_a_file_in_its_folder(tmp_path: Path) -> None:
    assert writes_handles("tiny-sql")
    assert not writes_handles("tiny")
    assert not writes_handles(str(tmp_path))
    (tmp_path / "text2sql.json").write_text(json.dumps({"writes": "handles"}))
    assert writes_handles(str(tmp_path))
    (tmp_path / "text2sql.json").write_text("[]")
    assert not writes_handles(str(tmp_path))


def test_the_embedded_model_for_text_gives_way_to_that_for_sql() -> None:
    asked: list[str | None] = []
    tiny, tiny_sql = engine_of({}, model="tiny"), pointer(right)

    def find(model: str | None) -> ScriptedEngine:
        asked.append(model)
        return tiny_sql if model == "tiny-sql" else tiny

    session = session_of(tiny)
    session.find_engine = find
    (outcome,) = run([QUESTION], MemoryDatabase(), session)
    assert outcome.sql == SQL
    assert tiny.num_prompts == 0


def test_a_case_without_a_choice_has_no_sql() -> None:
    assert QuestionCase("?", BEERS).sql is None


@pytest.mark.parametrize("given", [{"evidence": "IPA is a style"}, {"examples": "notes"}])
def test_what_such_a_model_cannot_read_is_an_error(given: dict[str, str]) -> None:
    engine = pointer(right)
    with pytest.raises(UsageError, match=f"question alone, and takes no {next(iter(given))}"):
        run([QUESTION], MemoryDatabase(), session_of(engine), Text2SqlOptions(**given))
    assert engine.num_prompts == 0


def test_evidence_of_no_question_is_none() -> None:
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(pointer(right)), evidence=[None])
    assert outcome.sql == SQL


def test_one_answer_alone_is_never_believed() -> None:
    engine = pointer(sometimes(1))
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(engine), Text2SqlOptions(candidates=1))
    assert outcome.sql is None
    assert engine.num_prompts == 3
