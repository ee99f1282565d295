"""Words of a question that neither the schema nor any operation has to do with."""

from datetime import date

import pytest

from relserve.linking.linker import link
from relserve.linking.schema import Column, ColumnKind, Schema, Table
from relserve.linking.unlinked import unlinked_words
from relserve.linking.values import SchemaValues

MESSAGES = Schema((
    Table("messages", (
        Column("id", ColumnKind.INT, "BIGINT"),
        Column("received", ColumnKind.DATE, "DATE"),
        Column("country", ColumnKind.TEXT, "VARCHAR", values=("Germany", "Spain", "United Kingdom")),
        Column("message", ColumnKind.TEXT, "VARCHAR", values=("Where is my order?",)),
    )),
))  # fmt: skip
TICKETS = Schema((
    Table("tickets", (
        Column("id", ColumnKind.INT, "BIGINT"),
        Column("kind", ColumnKind.TEXT, "VARCHAR", values=("billing", "complaint")),
        Column("urgent", ColumnKind.BOOL, "BOOLEAN"),
        Column("discount_percent", ColumnKind.NUM, "DOUBLE"),
    )),
))  # fmt: skip


def unlinked(question: str, schema: Schema = MESSAGES) -> list[str]:
    linked = link(schema, question, SchemaValues(schema), date(2025, 7, 1))
    return [word.text for word in unlinked_words(schema, linked)]


@pytest.mark.parametrize(("question", "words"), [
    ("How many complaints came from each country?", ["complaints"]),
    ("Which share of messages are complaints?", ["share", "complaints"]),
    ("ten most urgent messages", ["urgent"]),
    ("How many messages were answered?", ["answered"]),  # "answer me" asks for it, "answered" is a condition
    ("How many messages are questions?", ["questions"]),
    ("How many messages arrived on a Monday?", ["Monday"]),
    ("How many messages arrived per month?", ["month"]),
    ("Which week had the most messages?", ["week"]),
    ("How many messages are in German?", ["German"]),  # and not from Germany
    ("Which messages praise the shop?", ["praise", "shop"]),
    ("Show the order number of each message", ["order"]),
    ("Who wrote the most messages?", ["Who"]),
    ("How many angry customers wrote from Spain?", ["angry customers"]),
    ("Show the longest message", ["longest"]),
    ("What is the average order value?", ["order"]),
    ("How many messages mention a broken item?", ["broken"]),  # "broken down by" is an operation
])  # fmt: skip
def test_what_means_nothing_is_named(question: str, words: list[str]) -> None:
    assert unlinked(question) == words


@pytest.mark.parametrize("question", [
    "How many messages came from each country?",
    "Quick question: which country sent us the most messages? Thanks!",
    "Show me the five newest messages, please, in descending order",
    "Messages from Germany in March 2025",
    "How many messages arrived in the month of March 2025?",
    "How many messages arrived on each day of last month?",
    "When was the first message received?",
    "List all the diffrent countreis",  # slips of a letter
    "How many messages mention \"refund\"?",
    "Which countries do we serve, in alphabetical order?",
    "Messages broken down by country",
    "What is the distribution of messages over the countries?",
    "See the contents of the messages in reverse chronological order",
    "Which countries wrote more than 20 times?",
    "What is the date of the latest message that we received from the UK?",
])  # fmt: skip
def test_what_questions_have_whatever_they_are_about_is_not(question: str) -> None:
    assert unlinked(question) == []


@pytest.mark.parametrize(("question", "words"), [
    ("How many complaints are urgent?", []),  # a value and a column
    ("Which tickets have a discount above 11 percent?", []),
    ("What share of tickets is urgent?", ["share"]),
    ("tickets about returns", ["returns"]),
])  # fmt: skip
def test_the_same_word_may_mean_something_of_another_schema(question: str, words: list[str]) -> None:
    assert unlinked(question, TICKETS) == words
