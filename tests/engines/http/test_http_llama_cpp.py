"""The HTTP engine and llama.cpp: its own server, and llama-cpp-python's, which answers one at a time."""

from __future__ import annotations

import asyncio

import pytest
from asking import ask, texts
from http_fakes import Answered, said

from relserve.call.answer_types import Grammar
from relserve.engines.http.engine import MAX_QUEUED, HttpEngine
from relserve.errors import FailureKind

YES_NO = Grammar(choices=("yes", "no"))
LLAMA_CPP_PYTHON = {"data": [{"id": "m", "object": "model", "owned_by": "me", "permissions": []}]}
LLAMA_SERVER = {"data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {}}]}
NO_JSON_SCHEMA = (
    "1 validation error: {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
    "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}"
)


def refused(message, status=500):
    return Answered(status, {"error": {"message": message, "type": "internal_server_error"}})


async def yes(body):
    await asyncio.sleep(0.01)
    return said("yes")


@pytest.mark.parametrize("models", [LLAMA_CPP_PYTHON, LLAMA_SERVER])
def test_it_gets_a_grammar_in_gbnf_and_no_sampling_of_its_own(fake, models):
    server = fake(yes, models=models)
    ask(HttpEngine(server.url), ["a"], grammar=YES_NO, with_confidence=True, max_tokens=4)
    ((_, body),) = server.requests
    assert "response_format" not in body
    assert body["grammar"] == 'root ::= "yes" | "no"'
    assert body["max_tokens"] == 4
    assert (body["top_p"], body["top_k"], body["min_p"], body["repeat_penalty"]) == (1.0, 0, 0.0, 1.0)
    assert body["logprobs"] is True
    assert body["top_logprobs"] >= 1


def test_a_server_that_is_somebody_elses_gets_none_of_that(fake):
    server = fake(yes, models={"data": [{"id": "m", "owned_by": "me"}]})
    ask(HttpEngine(server.url), ["a"], grammar=YES_NO)
    assert not {"grammar", "repeat_penalty", "min_p"} & set(server.requests[0][1])


def test_what_answers_one_at_a_time_does_not_keep_rows_waiting_inside(fake):
    """Where it took 256, the last would wait for all the others and time out."""
    server = fake(yes, models=LLAMA_CPP_PYTHON)
    assert texts(ask(HttpEngine(server.url), ["a"] * 20)) == ["yes"] * 20
    assert server.max_running == MAX_QUEUED
    server = fake(yes, models=LLAMA_SERVER)
    ask(HttpEngine(server.url), ["a"] * 20)
    assert server.max_running > MAX_QUEUED


def test_a_refusal_told_as_an_internal_error_loses_no_row(fake):
    """llama-cpp-python behind something that lists its models otherwise: it takes no json_schema."""

    async def handler(body):
        return refused(NO_JSON_SCHEMA) if "response_format" in body else said("yes")

    server = fake(handler)
    engine = HttpEngine(server.url, max_in_flight=1)
    assert texts(ask(engine, ["a", "b"], grammar=YES_NO)) == ["yes", "yes"]
    assert len(server.requests) == 3


def test_no_probabilities_where_the_server_keeps_none(fake):
    async def handler(body):
        if "logprobs" in body:
            return refused("logprobs is not supported for models created with logits_all=False")
        return said("yes")

    server = fake(handler, models=LLAMA_CPP_PYTHON)
    (reply,) = ask(HttpEngine(server.url), ["a"], with_confidence=True)
    assert (reply.text, reply.confidence) == ("yes", None)
    assert "top_logprobs" not in server.requests[-1][1]


def test_a_grammar_that_it_does_not_parse_is_left_out(fake):
    async def handler(body):
        return refused("Failed to parse grammar", 400) if "grammar" in body else said("yes")

    server = fake(handler, models=LLAMA_SERVER)
    assert texts(ask(HttpEngine(server.url), ["a"], grammar=YES_NO)) == ["yes"]
    assert [("grammar" in body) for _, body in server.requests] == [True, False]


def test_a_row_over_the_context(fake):
    async def handler(body):
        error = {
            "message": "This model's maximum context length is 2048 tokens. However, ..",
            "code": "context_length_exceeded",
        }
        return Answered(400, {"error": error})

    (reply,) = ask(HttpEngine(fake(handler, models=LLAMA_CPP_PYTHON).url), ["a"])
    assert reply.failure.kind is FailureKind.OVER_CONTEXT
