"""Replies of servers that hold no answer: NULL and on record, and nothing of them in the answer cache."""

from __future__ import annotations

import re

import pytest
from asking import ask, texts
from http_fakes import Answered, said

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.answer_types import Grammar
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.errors import FailureKind
from relserve.session.session import Session

CALL = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}

NO_ANSWERS = {
    "null": (said(None), "unparsable", "the reply is empty"),
    "empty": (said(""), "unparsable", "the reply is empty"),
    "blank": (said(" \n"), "unparsable", "the reply is empty"),
    "tool": (said(None, "tool_calls", tool_calls=[CALL]), "unparsable", "called a tool"),
    "tool-and-text": (said("Let me look.", tool_calls=[CALL]), "unparsable", "called a tool"),
    "function": (said("", "function_call", function_call={}), "unparsable", "called a tool"),
    "safety": (said("How to", "SAFETY"), "refused", "content filter .*safety"),
    "recitation": (said(None, "RECITATION"), "refused", "content filter"),
    "refusal-ending": (said("I", "refusal"), "refused", "content filter"),
    "refusal-part": (said([{"type": "refusal", "refusal": "no"}]), "refused", "the model refused: no"),
    "no-text": (said({"answer": "yes"}), "unparsable", "which is no text"),
    "cut": (said("", "MAX_TOKENS"), "unparsable", "raise max_tokens"),
    "thoughts-part": (said([{"type": "thinking", "thinking": "hm"}]), "unparsable", "the reply is empty"),
    "open-thoughts": (said("<think>The user asks."), "unparsable", "thoughts and no answer"),
    "completion": (Answered(200, {"choices": [{"text": None}]}), "unparsable", "the reply is empty"),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
def test_no_answer_is_null_on_record_and_is_not_kept(fake, tmp_path, case):
    reply, kind, words = NO_ANSWERS[case]

    async def handler(body):
        return reply

    server = fake(handler)
    engine, cache = HttpEngine(server.url), AnswerCache(tmp_path / FILE_NAME, 2**20, pytest.fail)
    query = RelQuery("llm", Template.parse("{}").bind(1), [("a",)], parse_options("llm", {}))
    for number in (1, 2):
        session = Session(lambda model: engine, cache=cache)
        assert session.run(query).values == [None]
        (error,) = session.history.errors()
        assert error.failure.kind is FailureKind(kind)
        assert re.search(words, error.failure.message)
        assert cache.flush(60)
        assert len(server.requests) == number
    cache.close()


@pytest.mark.parametrize("sampling", [{"stop": ("\n",)}, {"grammar": Grammar(ebnf='root ::= "a"*')}])
def test_nothing_before_a_stop_string_or_under_a_grammar_of_the_call_is_an_answer(fake, sampling):
    async def handler(body):
        return said("")

    server = fake(handler, models={"data": [{"id": "m", "owned_by": "vllm"}]})
    assert texts(ask(HttpEngine(server.url), ["a"], **sampling)) == [""]


def test_a_text_in_parts_is_an_answer_without_its_thoughts(fake):
    async def handler(body):
        parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
        return said([*parts, {"type": "text", "text": "ye"}, {"type": "text", "text": "s"}])

    assert texts(ask(HttpEngine(fake(handler).url), ["a"])) == ["yes"]
