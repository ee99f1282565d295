"""What stands in a row's values is an answer; what does not is none, wherever the reply came from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from relserve.call.answer_types import Answer, Extract
from relserve.call.options import parse_options
from relserve.call.schema import shape_of
from relserve.call.verbatim import Quote, stands_in
from relserve.errors import Failure, FailureKind, OptionError

SOURCE = ("Hi, order ORD-19333. Best, Ann \U0001f44b", 'said "no"\n')
SCHEMA = '{"order": "VARCHAR", "day": "DATE", "names": ["VARCHAR"], "in": {"word": "VARCHAR"}}'


def quoted(reply: str, offsets: bool = False) -> Any:
    """The value of a reply, or what is wrong with it."""
    kind = Quote(offsets)
    answer = stands_in(kind, kind.parse(reply), SOURCE)
    return answer.failure.message if answer.failure else json.loads(answer.value)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("ORD-19333", "ORD-19333"), (" ORD-19333\n", "ORD-19333"), ("null", None), ("", None), ("  ", None),
        ('"ORD-19333"', "ORD-19333"), ("\u201cAnn \U0001f44b\u201d", "Ann \U0001f44b"), ('"no"', '"no"'),
        ("ORD-193334", "the reply is 'ORD-193334', which is not in the text"),
        ("The order is ORD-19333", "the reply is 'The order is ORD-19333', which is not in the text"),
        ("ord-19333", "the reply is 'ord-19333', which is not in the text"),
        ('""', "the reply is '\"\"', which is not in the text"),
        ("x" * 200, f"the reply is '{'x' * 77}...', which is not in the text"),
    ],
)  # fmt: skip
def test_a_quote_is_in_a_value_or_told_to_be_none(reply: str, value: Any) -> None:
    assert quoted(reply) == value


def test_offsets_are_of_characters_of_the_first_value_that_has_it() -> None:
    assert quoted("\U0001f44b", offsets=True) == {"text": "\U0001f44b", "start": 32, "stop": 32}
    assert SOURCE[0][31] == "\U0001f44b"
    assert quoted('"no"', offsets=True) == {"text": '"no"', "start": 6, "stop": 9}
    assert quoted("null", offsets=True) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, None),
        ({"order": None, "names": None, "in": None}, None),
        ({"order": "ORD-1933"}, None),
        ({"order": "ORD-7"}, "order is 'ORD-7', which is not in the text"),
        ({"names": ["Ann", "Bob"]}, "names[1] is 'Bob', which is not in the text"),
        ({"in": {"word": "No"}}, "in.word is 'No', which is not in the text"),
    ],
)
def test_texts_in_json_are_checked_where_they_are(changed: dict[str, Any], message: str | None) -> None:
    kind = Extract(shape_of(SCHEMA), verbatim=True)
    found = {"order": "ORD-19333", "day": "2024-01-31", "names": ["Ann"], "in": {"word": '"no"\n'}} | changed
    answer = stands_in(kind, kind.parse(json.dumps(found)), SOURCE)
    if message is None:
        assert json.loads(answer.value) == found
    else:
        assert answer == Answer(None, Failure(FailureKind.UNPARSABLE, message))


def test_verbatim_needs_a_text_to_hold() -> None:
    with pytest.raises(
        OptionError, match="verbatim holds texts to the row's values, and the schema has none"
    ):
        parse_options("llm_extract", {"schema": '{"n": "BIGINT"}', "verbatim": True})
    assert parse_options("llm_extract", {"schema": '["VARCHAR"]', "verbatim": True}).verbatim
    with pytest.raises(OptionError, match="offsets must be true or false, not 1"):
        parse_options("llm_quote", {"offsets": 1})
