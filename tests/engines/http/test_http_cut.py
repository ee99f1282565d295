"""Replies over HTTP that max_tokens ended, and thoughts that used it up."""

from __future__ import annotations

import json

import pytest
from asking import ask, texts
from http_fakes import Answered, said

from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.errors import FailureKind
from relserve.session.session import Session

VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
SCHEMA = {"schema": '{"name": "VARCHAR"}'}


def run(server, function, **options):
    """The value of one row, and the message of its failure."""
    engine = HttpEngine(server.url)
    session = Session(lambda model: engine)
    binding = Template.parse("{}").bind(1)
    (value,) = session.run(RelQuery(function, binding, [("a",)], parse_options(function, options))).values
    return value, "".join(error.failure.message for error in session.history.errors())


@pytest.mark.parametrize("content", ["", None, "\n"])
def test_thoughts_that_used_up_max_tokens_and_are_not_shown(fake, content):
    async def handler(body):
        return said(content, "length")

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"])
    assert reply.failure.kind is FailureKind.UNPARSABLE
    assert "before the answer began; raise max_tokens" in reply.failure.message


def test_a_typed_function_may_give_a_model_room_to_think(fake):
    async def handler(body):
        return said("yes") if body["max_tokens"] >= 1000 else said(None, "length")

    server = fake(handler)
    value, message = run(server, "llm_filter")
    assert value is None
    assert "raise max_tokens" in message
    assert run(server, "llm_filter", max_tokens=1000) == (True, "")


def test_vllm_is_told_not_to_think(fake):
    async def handler(body):
        assert body["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
        return said("yes")

    assert texts(ask(HttpEngine(fake(handler, models=VLLM).url), ["a"])) == ["yes"]


def test_vllm_with_a_mistral_tokenizer_is_not(fake):
    async def handler(body):
        if "chat_template_kwargs" in body:
            message = "chat_template is not supported for Mistral tokenizers."
            return Answered(400, {"error": {"message": message}})
        return said("yes")

    server = fake(handler, models=VLLM)
    engine = HttpEngine(server.url, max_in_flight=1)
    assert texts(ask(engine, ["a", "b"])) == ["yes", "yes"]
    assert [path for path, _ in server.requests] == ["/v1/chat/completions"] * 3


@pytest.mark.parametrize(
    ("function", "options", "reply"),
    [
        ("llm_extract", SCHEMA, '{"name": "Al'),
        ("llm_classify", {"choices": ["positive", "negative"]}, "posi"),
        ("llm_classify", {"choices": ["pale ale", "pale"]}, "Pale"),
        ("llm_score", {"lo": 0, "hi": 10}, "1"),
        ("llm_score", {"lo": 0, "hi": 5000}, "12"),
        ("llm_int", {}, "12"),
    ],
)
@pytest.mark.parametrize("models", [VLLM, None])
def test_a_cut_reply_is_no_value_and_says_what_ended_it(fake, function, options, reply, models):
    async def handler(body):
        return said(reply, "length")

    server = fake(handler, **({"models": models} if models else {}))
    value, message = run(server, function, **options)
    assert value is None
    assert "max_tokens ended" in message
    assert "raise" in message


@pytest.mark.parametrize(
    ("function", "options", "reply", "value"),
    [
        ("llm", {}, "half a sent", "half a sent"),
        ("llm_extract", SCHEMA, '{"name": "Al"}', '{"name": "Al"}'),
        ("llm_classify", {"choices": ["pale ale", "pale"]}, "pale ale", "pale ale"),
        ("llm_bool", {}, "true", "true"),
    ],
)
def test_a_cut_reply_that_could_not_go_on_counts(fake, function, options, reply, value):
    async def handler(body):
        return said(reply, "length")

    assert run(fake(handler, models=VLLM), function, **options) == (value, "")


def test_a_wrapped_reply_that_is_whole_counts_though_it_was_cut(fake):
    async def handler(body):
        return said(json.dumps({"answer": 12}), "length")

    assert run(fake(handler), "llm_int") == ("12", "")
