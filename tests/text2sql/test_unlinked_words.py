"""A question with words that are linked to nothing is refused, with the query in which llm calls tell."""

import re
from dataclasses import replace

import pytest

from relserve.errors import Text2SqlError, UnlinkedWordsError
from relserve.linking.schema import Column, ColumnKind, Schema, Table
from relserve.text2sql.pipeline import run
from relserve.text2sql.stages.llm_readings import text_column
from tests.text2sql.databases import BEERS, MemoryDatabase
from tests.text2sql.replies import Told, engine_of, session_of

MESSAGES = Schema((
    Table("messages", (
        Column("id", ColumnKind.INT, "BIGINT"),
        Column("country", ColumnKind.TEXT, "VARCHAR", values=("Germany", "Spain")),
        Column("message", ColumnKind.TEXT, "VARCHAR", values=("It broke.",)),
    )),
))  # fmt: skip
FILL = """CREATE TABLE messages (id BIGINT, country VARCHAR, message VARCHAR);
INSERT INTO messages VALUES (1, 'Germany', 'It broke.'), (2, 'Spain', 'Thanks!')"""
COMPLAINT = """llm_filter('Is it a complaint? {message}', "message")"""


def answers(shape: str) -> Told:
    """The same answer under any shuffle: C and T stand for the handles of country and messages."""

    def reply(prompt: str) -> str:
        (table,) = re.findall(r"message \+s (t\d+) :", prompt)
        (country,) = re.findall(r"country (c\d+) text", prompt)
        return shape.replace("C", country).replace("T", table)

    return reply


def refusal(question: str, shape: str = "select * from T") -> tuple[UnlinkedWordsError, list[str]]:
    """The error of a question, and the prompts that were asked."""
    engine = engine_of({"candidates": answers(shape)}, model="tiny-sql")
    (outcome,) = run([question], MemoryDatabase(MESSAGES, FILL), session_of(engine))
    assert outcome.sql is None
    assert isinstance(outcome.failure, UnlinkedWordsError)
    return outcome.failure, [prompt for each in engine.submissions for prompt in each.prompts]


@pytest.mark.parametrize(("question", "asked", "shape", "proposal"), [
    ("How many complaints came from each country?",
     "how many count message +s", "select C , count ( * ) from T group by C",
     f'SELECT "country", count(*) FROM "messages" WHERE {COMPLAINT} GROUP BY "country"'),
    ("Which share of messages are complaints?",
     "how many count message +s", "select count ( * ) from T",
     f'SELECT avg(CAST({COMPLAINT} AS INT)) FROM "messages"'),
    ("ten most urgent messages", "show message +s", "select * from T",
     'SELECT * FROM "messages" '
     """ORDER BY llm_score('How urgent is it? {message}', "message") DESC LIMIT 10"""),
    ("Which messages ask for a refund?", "which message +s", "select * from T where C is not null",
     'SELECT * FROM "messages" WHERE NOT "country" IS NULL '
     """AND llm_filter('Does it ask for a refund? {message}', "message")"""),
    ("How many messages have a complaint?", "how many count message +s", "select count ( * ) from T",
     f'SELECT count(*) FROM "messages" WHERE {COMPLAINT}'),
    ("How many messages mention a refund?", "how many count message +s", "select count ( * ) from T",
     'SELECT count(*) FROM "messages" '
     """WHERE llm_filter('Does it mention a refund? {message}', "message")"""),
])  # fmt: skip
def test_the_proposal_is_the_sql_of_the_rest_with_an_llm_call(
    question: str, asked: str, shape: str, proposal: str
) -> None:
    failure, prompts = refusal(question, shape)
    assert failure.proposal == proposal
    assert all(asked in prompt.casefold() for prompt in prompts)
    assert f"  {proposal}\n" in str(failure)


def test_the_column_of_texts_names_its_rows_where_the_table_has_another_name() -> None:
    schema = Schema((replace(MESSAGES.tables[0], name="orders"),))
    engine = engine_of({"candidates": "select select"}, model="tiny-sql")
    database = MemoryDatabase(schema, FILL.replace("messages", "orders"))
    (outcome,) = run(["Which messages sound sarcastic?"], database, session_of(engine))
    assert isinstance(outcome.failure, UnlinkedWordsError)
    call = """llm_filter('Does it sound sarcastic? {message}', "message")"""
    assert outcome.failure.proposal == f'SELECT * FROM "orders" WHERE {call}'


def test_words_that_no_yes_or_no_is_about_get_no_proposal_and_no_prompt() -> None:
    failure, prompts = refusal("Which courier is blamed most often in Spain?")
    assert (failure.words, failure.proposal, prompts) == (("courier", "blamed"), None, [])
    assert '"courier" and "blamed" mean nothing here' in str(failure)
    assert "How many messages have country 'Spain'?" in str(failure)


def test_a_share_alone_is_no_matter_of_texts() -> None:
    failure, prompts = refusal("What percentage of messages come from Germany?")
    assert (failure.words, failure.proposal, prompts) == (("percentage",), None, [])
    assert "divide" in str(failure)


def test_where_the_answers_to_the_rest_disagree_the_rows_are_proposed() -> None:
    failure, _ = refusal("How many complaints came from each country?", "select select")
    assert failure.proposal == f'SELECT * FROM "messages" WHERE {COMPLAINT}'


def test_a_model_that_writes_sql_reads_all_words_and_is_not_held_to_them() -> None:
    engine = engine_of({"candidates": "```sql\nSELECT count(*) FROM messages\n```"}, model="large")
    (outcome,) = run(["How many complaints are there?"], MemoryDatabase(MESSAGES, FILL), session_of(engine))
    assert outcome.sql == "SELECT count(*) FROM messages"


def test_names_and_codes_are_no_column_of_texts() -> None:
    assert text_column(BEERS, frozenset()) is None
    found = text_column(MESSAGES, frozenset())
    assert found is not None
    assert found[1].name == "message"


def test_told_in_other_words_it_is_the_same_error() -> None:
    failure, _ = refusal("What percentage of messages come from Germany?")
    told: Text2SqlError = failure.retold("other words")
    assert isinstance(told, UnlinkedWordsError)
    assert (told.words, told.stage, told.problem) == (failure.words, failure.stage, "other words")
    assert told.__cause__ is failure.__cause__
