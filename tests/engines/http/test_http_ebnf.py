"""Grammars of rows over HTTP: in each server's notation, and told where a server takes none."""

from __future__ import annotations

import asyncio

import pytest
from asking import ask, texts
from http_fakes import Answered, said

from relserve.call.answer_types import Grammar
from relserve.engines.http.engine import HttpEngine
from relserve.errors import FailureKind, OptionError

A = Grammar(ebnf='root ::= a_rule\na_rule ::= "a"')
B = Grammar(ebnf='root ::= "b"')
VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
LLAMA_CPP = {"data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {}}]}


async def yes(body):
    await asyncio.sleep(0.001)
    return said(" yes")


def bodies(server):
    return {body["messages"][0]["content"]: body for _, body in server.requests}


def test_vllm_gets_each_row_s_grammar_as_it_is_and_the_space_is_the_grammar_s_own(fake):
    server = fake(yes, models=VLLM)
    assert texts(ask(HttpEngine(server.url), ["p", "q", "r"], grammars=[A, B, None])) == [" yes"] * 3
    found = {prompt: body.get("structured_outputs") for prompt, body in bodies(server).items()}
    assert found == {"p": {"grammar": A.ebnf}, "q": {"grammar": B.ebnf}, "r": None}


def test_llama_cpp_gets_it_in_gbnf(fake):
    server = fake(yes, models=LLAMA_CPP)
    ask(HttpEngine(server.url), ["p", "q", "r"], grammars=[A, B, None])
    found = {prompt: body.get("grammar") for prompt, body in bodies(server).items()}
    assert found == {"p": 'root ::= a-rule\na-rule ::= "a"', "q": 'root ::= "b"', "r": None}


def test_what_is_no_grammar_never_reaches_llama_cpp(fake):
    server = fake(yes, models=LLAMA_CPP)
    bad, good = ask(HttpEngine(server.url), ["p", "q"], grammars=[Grammar(ebnf="root ::= x"), B])
    assert bad.failure == (FailureKind.REFUSED, "the grammar has no rule 'x'")
    assert good.text == " yes"
    assert list(bodies(server)) == ["q"]


def test_a_refused_grammar_fails_its_row_and_is_not_left_out(fake):
    async def refuses(body):
        if "grammar" in body:
            return Answered(400, {"error": {"message": "Failed to parse grammar"}})
        return said("anything")

    server = fake(refuses, models=LLAMA_CPP)
    held, free = ask(HttpEngine(server.url), ["p", "q"], grammars=[A, None])
    assert held.failure == (FailureKind.REFUSED, "HTTP 400: Failed to parse grammar")
    assert free.text == "anything"
    assert len(server.requests) == 2


def test_other_servers_take_none(fake):
    server = fake(yes)
    with pytest.raises(OptionError, match="cannot be held to a grammar of the call's own"):
        ask(HttpEngine(server.url), ["p"], grammars=[A])
    assert server.requests == []
