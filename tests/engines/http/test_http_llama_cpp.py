"""The HTTP engine and llama.cpp: its own server, and llama-cpp-python's, which answers one at a time."""

from __future__ import annotations

import asyncio

import pytest
from asking import ask, collect, submission_of, texts
from http_fakes import Answered, said

from relserve.call.answer_types import Extract, Grammar
from relserve.call.schema import shape_of
from relserve.engines.http.dialect import MOST_LIKELIEST_UNMASKED
from relserve.engines.http.engine import MAX_QUEUED, HttpEngine
from relserve.engines.loop import spawn
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
    assert body["grammar"] == 'root ::= " "? (("y" | "Y") "es" | ("n" | "N") "o")'
    assert body["max_tokens"] == 4
    assert (body["top_p"], body["top_k"], body["min_p"], body["repeat_penalty"]) == (1.0, 0, 0.0, 1.0)
    assert body["logprobs"] is True
    assert body["top_logprobs"] == MOST_LIKELIEST_UNMASKED


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


SCHEMAS = [
    """{"t": "VARCHAR", "l": "VARCHAR[]", "ll": "DOUBLE[][]", "fixed": "TIMESTAMP[100]"}""",
    """{"d": "DECIMAL(38,10)[]", "b": {"c": {"x": "DATE"}, "n": "INT"}, "e": "ENUM('a-b', '[]', '\\\\')"}""",
    """{"quoted \\" name": "BOOLEAN", "ü😀": "TIME"}""",
]
REGEXES = [r"-?[0-9]{1,3}(\.[0-9]{1,2})?", r"(a|b\||\{\}){1,2000}", r'[^"\\\x01-\x1f]+']
CHOICES = [("two\nlines", 'a "q" \\', "\x7f"), ("\ud83d", "]"), tuple(map(str, range(500)))]


@pytest.mark.long
def test_llama_cpp_parses_every_grammar(llamacpp_engine):
    """One that it does not parse would end the server."""
    grammars = [Extract(shape_of(schema)).grammar for schema in SCHEMAS]
    grammars += [Grammar(regex=regex) for regex in REGEXES] + [
        Grammar(choices=choices) for choices in CHOICES
    ]
    for grammar in grammars:
        (reply,) = ask(llamacpp_engine, ["Write something."], grammar=grammar)
        assert reply.failure is None


@pytest.mark.long
def test_clients_that_ask_at_once_neither_interrupt_nor_mix(llamacpp_server, llamacpp_engine):
    prompts = [f"How good is number {i}?" for i in range(40)]
    alone = texts(ask(llamacpp_engine, prompts))

    async def all_at_once():
        others = [HttpEngine(llamacpp_server.url) for _ in range(3)]
        found = await asyncio.gather(*(collect(other, submission_of(prompts)) for other in others))
        await asyncio.gather(*(other.close() for other in others))
        return found

    for replies in spawn(all_at_once()).result(timeout=120):
        assert texts(sorted(replies, key=lambda reply: reply.index)) == alone
