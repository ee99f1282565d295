"""Rows that quote over HTTP: vLLM and llama.cpp are held to the text, others are asked without a grammar."""

from __future__ import annotations

import pytest
from asking import ask, texts
from http_fakes import said

from relserve.call.answer_types import Grammar
from relserve.call.schema import shape_of
from relserve.engines.http.engine import HttpEngine
from relserve.engines.http.gbnf import MOST_CHARS

MODELS = {
    "vllm": {"data": [{"id": "m", "owned_by": "vllm"}]},
    "llamacpp": {"data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {}}]},
    "other": {"data": [{"id": "m", "owned_by": "somebody"}]},
}
QUOTE = Grammar(source=("a b",))
RULES = (
    'root ::= " "? ("null" | part)\npart ::= t0s0\nt0s0 ::= "a" t0s1? | " " t0s2? | "b"\n'
    't0s1 ::= " " t0s2?\nt0s2 ::= "b"'
)
LONG = ("word " * MOST_CHARS,)


async def a_part(body):
    return said(" b")


def held(server):
    """What each row's request is held to."""
    bodies = [body for _, body in server.requests]
    return [
        (body.get("structured_outputs") or {}).get("grammar") or body.get("grammar") for body in bodies
    ], [body.get("response_format") for body in bodies]


@pytest.mark.parametrize(("owner", "rules"), [("vllm", RULES), ("llamacpp", RULES), ("other", None)])
def test_each_server_gets_what_it_takes(fake, owner, rules):
    server = fake(a_part, models=MODELS[owner])
    assert texts(ask(HttpEngine(server.url), ["p"], grammars=[QUOTE])) == ["b"]
    assert held(server) == ([rules], [None])


@pytest.mark.parametrize("owner", ["vllm", "llamacpp"])
def test_of_a_long_text_no_parts_are_spelled_out(fake, owner):
    server = fake(a_part, models=MODELS[owner])
    json = Grammar(shape=shape_of('{"a": "VARCHAR"}'), source=LONG)
    ask(HttpEngine(server.url), ["p", "q"], grammars=[Grammar(source=LONG), json])
    free, loose = sorted(held(server)[0], key=lambda rules: rules or "")
    assert free is None
    assert "t0s0" not in loose


def test_other_servers_get_the_schema_of_what_is_json(fake):
    async def wrapped(body):
        return said('{"answer": {"a": "b"}}')

    server = fake(wrapped, models=MODELS["other"])
    grammar = Grammar(shape=shape_of('{"a": "VARCHAR"}'), source=("a b",))
    assert texts(ask(HttpEngine(server.url), ["p"], grammars=[grammar])) == ['{"a": "b"}']
    assert held(server)[1][0]["type"] == "json_schema"
