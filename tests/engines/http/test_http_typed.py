"""The HTTP engine with shapes and probabilities: what is asked of servers, and what is read from replies."""

from __future__ import annotations

import json
import math

import pytest
from asking import ask, texts
from http_fakes import Answered, said

from relserve.call.answer_types import Extract, Grammar
from relserve.call.schema import shape_of
from relserve.engines.http.engine import HttpEngine

VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
YES_NO = Grammar(choices=("yes", "no"))
SHAPE = shape_of('{"maxItems": ["VARCHAR"], "tag": "VARCHAR", "n": "INTEGER"}')
REPLY = '{"maxItems": [], "tag": "x", "n": 12}'


def refuse(message):
    return Answered(400, {"error": {"message": message}})


def last(server):
    return server.requests[-1][1]


def schema_in(body):
    return body["response_format"]["json_schema"]["schema"]["properties"]["answer"]


def told(*tokens):
    """Log probabilities of a chat's tokens."""
    return {"content": [{"token": token, "logprob": math.log(p), "top_logprobs": []} for token, p in tokens]}


def with_logprobs(content, logprobs, **message):
    reply = said(content, **message)
    reply.body["choices"][0]["logprobs"] = logprobs
    return reply


def test_vllm_gets_the_shape_as_a_regex(fake):
    async def handler(body):
        return said(REPLY)

    server = fake(handler, models=VLLM)
    assert texts(ask(HttpEngine(server.url), ["a"], grammar=Grammar(shape=SHAPE))) == [REPLY]
    assert last(server)["structured_outputs"] == {"regex": f" ?({SHAPE.regex()})"}
    assert "logprobs" not in last(server)


def test_other_servers_get_it_wrapped_and_numbers_stay_exact(fake):
    async def handler(body):
        assert schema_in(body) == SHAPE.json_schema()
        return said('{"answer": {"n": 0.1000000000000000000001, "tags": ["}"]} }')

    replies = ask(HttpEngine(fake(handler).url), ["a"], grammar=Grammar(shape=SHAPE))
    assert texts(replies) == ['{"n": 0.1000000000000000000001, "tags": ["}"]}']


def test_a_refused_bound_is_left_out_and_fields_of_its_name_stay(fake):
    async def handler(body):
        if '"maxItems":' in json.dumps(schema_in(body)["properties"]["maxItems"]):
            return refuse("Invalid schema for response_format 'answer': 'maxItems' is not permitted")
        return said(json.dumps({"answer": json.loads(REPLY)}))

    server = fake(handler)
    engine = HttpEngine(server.url, max_in_flight=1)
    assert texts(ask(engine, ["a", "b"], grammar=Grammar(shape=SHAPE))) == [REPLY, REPLY]
    assert len(server.requests) == 3
    assert "maxItems" in schema_in(last(server))["properties"]
    assert "minimum" in json.dumps(schema_in(last(server)))


def test_a_server_that_takes_no_schema_answers_in_plain_text(fake):
    async def handler(body):
        return refuse("response_format is not supported") if "response_format" in body else said(REPLY)

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=Grammar(shape=SHAPE))
    assert json.loads(Extract(SHAPE).parse(reply.text).value)["n"] == 12


def logprob_of(token, probability):
    return {"token": token, "logprob": math.log(probability)}


@pytest.mark.parametrize(
    ("content", "tokens", "confidence"),
    [
        ("yes", [("yes", 0.9)], 0.9),
        ("yes", [("y", 0.9), ("es", 0.5), ("</s>", 0.8)], 0.36),
        ('{"answer": "yes"}', [('{"', 0.1), ('answer":', 0.2), (' "', 0.5), ("yes", 0.9), ('"}', 0.8)], 0.72),
        ("<think>yes</think>no", [("<think>", 0.3), ("yes", 0.2), ("</think>", 0.1), ("no", 0.7)], 0.7),
    ],
)
def test_the_probability_of_the_answers_tokens(fake, content, tokens, confidence):
    async def handler(body):
        assert body["logprobs"] is True
        return with_logprobs(content, told(*tokens))

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert reply.confidence == pytest.approx(confidence)


def test_the_probability_from_completions(fake):
    async def handler(body):
        if "messages" in body:
            return Answered(404, {"detail": "Not Found"})
        logprobs = {"tokens": ["y", "es"], "token_logprobs": [math.log(0.5), math.log(0.8)]}
        return Answered(200, {"choices": [{"text": "yes", "finish_reason": "stop", "logprobs": logprobs}]})

    server = fake(handler)
    (reply,) = ask(HttpEngine(server.url), ["a"], grammar=YES_NO, with_confidence=True)
    assert reply.confidence == pytest.approx(0.4)
    assert last(server)["logprobs"] == 5


def test_the_probability_is_that_among_the_choices_where_others_are_told(fake):
    likeliest = [("Sure", 0.3), (" yes", 0.2), ("y", 0.1), ("no", 0.1), ("n", 0.05)]
    content = [
        {"token": "y", "logprob": math.log(0.1), "top_logprobs": [logprob_of(*each) for each in likeliest]},
        {"token": "es", "logprob": math.log(0.9), "top_logprobs": [logprob_of("es", 0.9)]},
    ]

    async def handler(body):
        assert body["top_logprobs"] == 20
        return with_logprobs("yes", {"content": content})

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert reply.confidence == pytest.approx(0.29 / 0.44)  # what is no choice does not count


def test_a_server_that_refuses_top_logprobs_still_tells_those_of_the_answer(fake):
    async def handler(body):
        if "top_logprobs" in body:
            return refuse("unknown field top_logprobs")
        return with_logprobs("yes", told(("yes", 0.9)))

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert reply.confidence == pytest.approx(0.9)


NO_TEXT = [{"token": 5, "logprob": -1}, {"token": "no", "logprob": -2}]


@pytest.mark.parametrize(
    "logprobs",
    [
        None, {}, {"content": []}, {"content": [{"odd": 1}]}, [1], "x",
        {"content": [{"token": "yes", "logprob": 10**400}]},
        {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": NO_TEXT}]},
    ],
)  # fmt: skip
def test_no_or_odd_logprobs_are_no_probability(fake, logprobs):
    async def handler(body):
        return with_logprobs("yes", logprobs)

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert (reply.text, reply.confidence) == ("yes", None)


def test_a_server_that_refuses_logprobs_is_asked_without(fake):
    async def handler(body):
        return refuse("'logprobs' is not supported with this model") if "logprobs" in body else said("yes")

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], grammar=YES_NO, with_confidence=True)
    assert (reply.text, reply.confidence) == ("yes", None)
