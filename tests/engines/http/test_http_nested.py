"""Replies that are nested so deep that nobody reads them: one NULL, on record, and the others' answers."""

from __future__ import annotations

import json

import pytest
from asking import ask
from http_fakes import Answered, said

from relserve.call.answer_types import Extract
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.schema import shape_of
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.errors import EngineStartError, FailureKind
from relserve.session.session import Session

DEEP = "[" * 3000
WHOLE = DEEP + "]" * 3000
BODY = '{"choices": [{"message": {"content": "a"}}], "deep": ' + WHOLE + "}"
VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
OPENAI = {"data": [{"id": "m", "owned_by": "openai"}]}
DOUBLE = {"schema": '{"list": ["INTEGER"]}'}


@pytest.mark.parametrize(
    ("function", "options", "models", "bad", "good"),
    [
        ("llm", {}, OPENAI, Answered(200, BODY.encode()), "4"),
        ("llm", {}, OPENAI, Answered(200, BODY.encode(), content_type="text/plain"), "4"),
        ("llm_int", {}, OPENAI, said('{"answer": ' + DEEP), '{"answer": 4}'),
        ("llm_int", {}, OPENAI, said('{"answer": ' + WHOLE + "}"), '{"answer": 4}'),
        ("llm_int", {}, VLLM, said(DEEP), "4"),
        ("llm_extract", DOUBLE, VLLM, said('{"list": ' + WHOLE + "}"), '{"list": [4]}'),
        ("llm_extract", {"schema": "VARCHAR"}, VLLM, said(DEEP), '"4"'),
        ("llm_classify", {"choices": ["4", "5"]}, OPENAI, said('{"answer": ' + DEEP), '{"answer": "4"}'),
    ],
)  # fmt: skip
def test_one_null_on_record(fake, function, options, models, bad, good):
    async def handler(body):
        return bad if "bad" in json.dumps(body["messages"]) else said(good)

    server = fake(handler, models=models)
    engine = HttpEngine(server.url, max_retries=0)
    session = Session(lambda model: engine)
    rows = [("a",), ("bad",), ("c",)]
    query = RelQuery(function, Template.parse("{}").bind(1), rows, parse_options(function, options))
    values = session.run(query).values
    assert [value is None for value in values] == [False, True, False]
    (error,) = session.history.errors()
    assert error.failure.kind is FailureKind.UNPARSABLE
    assert len(server.requests) == 3


def test_a_status_counts_whatever_its_body_is(fake):
    async def handler(body):
        return Answered(400, ('{"error": {"message": ' + "[" * 900 + "]" * 900 + "}}").encode())

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"])
    assert reply.failure.kind is FailureKind.REFUSED
    assert "HTTP 400" in reply.failure.message


@pytest.mark.parametrize("data", [WHOLE, "[" * 900 + "]" * 900])
def test_a_list_of_models_is_no_list(fake, data):
    server = fake(lambda body: None, models=data.encode())
    with pytest.raises(EngineStartError, match="not an OpenAI-compatible server"):
        ask(HttpEngine(server.url), ["a"])


@pytest.mark.parametrize("depth", [100, 900, 985, 3000])
def test_a_reply_at_the_edge_of_what_can_be_read_is_no_value(depth):
    answer = Extract(shape_of('{"list": ["INTEGER"]}')).parse('{"list": ' + "[" * depth + "]" * depth + "}")
    assert answer.value is None
    assert answer.failure.kind is FailureKind.UNPARSABLE
