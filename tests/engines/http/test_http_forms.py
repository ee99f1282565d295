"""Answers in other forms than asked for: under another content type, with further members, between fences."""

from __future__ import annotations

import json

import pytest
from http_fakes import Answered, said

from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.session.session import Session

SCHEMA = {"schema": '{"n": "INTEGER"}'}
PLAIN = json.dumps(said("yes").body).encode()


def run(server, function, **options):
    """The value of one row."""
    engine = HttpEngine(server.url)
    session = Session(lambda model: engine)
    query = RelQuery(function, Template.parse("{}").bind(1), [("a",)], parse_options(function, options))
    (value,) = session.run(query).values
    assert (value is None) == bool(session.history.errors())
    assert len({json.dumps(body) for _, body in server.requests}) == len(server.requests), "asked again"
    return value


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "application/octet-stream", ""])
@pytest.mark.parametrize("body", [PLAIN, b"\xef\xbb\xbf" + PLAIN])
def test_json_is_read_under_any_name(fake, kind, body):
    async def handler(_):
        return Answered(200, body, content_type=kind)

    assert run(fake(handler), "llm") == "yes"


def test_so_is_a_list_of_models(fake):
    async def handler(_):
        return said("yes")

    server = fake(handler, models=json.dumps({"data": [{"id": "m"}]}).encode(), models_type="text/plain")
    assert run(server, "llm") == "yes"


@pytest.mark.parametrize(
    ("function", "options", "content", "value"),
    [
        ("llm_int", {}, '{"answer": 3, "why": "so"}', "3"),
        ("llm_int", {}, '{"why": "{\\"answer\\": 5}", "answer": 3}', "3"),
        ("llm_int", {}, '{"answer": 3, "answer": 3}', "3"),
        ("llm_int", {}, '{"answer": 3, "answer": 5}', None),
        ("llm_classify", {"choices": ["a", "b"]}, '{"answer": "a", "why": "}"}', "a"),
        ("llm_classify", {"choices": ["a", "b"]}, '{"answer": "a", "answer": "b"}', None),
        ("llm_filter", {}, '```json\n{"answer": "yes"}\n```', True),
        ("llm_extract", SCHEMA, '{"answer": {"n": 3}, "sure": true}', '{"n": 3}'),
        ("llm_extract", SCHEMA, '```json\n{"answer": {"n": 3}}\n```\n', '{"n": 3}'),
        ("llm_extract", SCHEMA, '{"answer": {"n": 3}} {"answer": {"n": 4}}', None),
    ],
)
def test_a_wrapped_answer_is_parsed_and_not_sliced(fake, function, options, content, value):
    async def handler(_):
        return said(content)

    assert run(fake(handler), function, **options) == value


@pytest.mark.parametrize(
    ("function", "options", "content", "value"),
    [
        ("llm_extract", SCHEMA, '```json\n{"n": 3}\n```', '{"n": 3}'),
        ("llm_extract", SCHEMA, '```json {"n": 3}```', '{"n": 3}'),
        ("llm_int", {}, "```\n3\n```", "3"),
        ("llm_filter", {}, "```text\nyes\n```", True),
        ("llm_score", {"lo": 0, "hi": 10}, "```7```", 7.0),
        ("llm_classify", {"choices": ["json", "xml"]}, "```\nXML\n```", "xml"),
        ("llm_extract", SCHEMA, 'It is:\n```json\n{"n": 3}\n```', None),
    ],
)
def test_fences_are_taken_off_where_the_server_takes_no_schema(fake, function, options, content, value):
    async def handler(body):
        if "response_format" in body:
            return Answered(400, {"error": {"message": "response_format is not supported"}})
        return said(content)

    assert run(fake(handler), function, **options) == value


def test_fences_of_a_free_text_stay(fake):
    async def handler(_):
        return said("```py\nx = 1\n```")

    assert run(fake(handler), "llm") == "```py\nx = 1\n```"
