"""Thinking over HTTP: what servers are told, what they count, and those that cannot."""

from __future__ import annotations

import pytest
from asking import ask, texts
from http_fakes import Answered, said
from thinking_model import ALWAYS, make
from vllm_servers import VllmServer

from relserve.call.answer_types import Grammar
from relserve.engines.http.dialect import MARK_TOKENS
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import OptionError
from tests.waiting import PATIENCE_S

VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
LLAMA_CPP = {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {}}]}
YES_NO = Grammar(choices=("yes", "no"))


def thought(content: str, **message: str) -> Answered:
    """A reply whose thoughts were counted."""
    details = {"completion_tokens_details": {"reasoning_tokens": 7}}
    return said(content, usage={"prompt_tokens": 5, "completion_tokens": 9, **details}, **message)


def refusing(field: str, message: str, status: int = 400):
    """A handler that refuses a field and else has thought."""

    async def handler(body):
        return Answered(status, {"error": {"message": message}}) if field in body else thought("yes")

    return handler


@pytest.mark.parametrize(("tokens", "effort"), [(9, "low"), (512, "low"), (2000, "medium"), (4096, "high")])
def test_servers_are_told_an_effort_and_have_room_for_both(fake, tokens, effort):
    async def handler(body):
        assert (body["reasoning_effort"], body["max_tokens"]) == (effort, 8 + tokens + MARK_TOKENS)
        assert "chat_template_kwargs" not in body
        assert "thinking_token_budget" not in body
        return thought("4", reasoning_content="two and two")

    (reply,) = ask(HttpEngine(fake(handler).url), ["2+2"], thinking=tokens)
    assert (reply.text, reply.usage) == ("4", (5, 0, 9, 7))


def test_nothing_is_said_where_nothing_is_thought(fake):
    async def handler(body):
        assert "reasoning_effort" not in body
        assert body["max_tokens"] == 8
        return said("4")

    assert ask(HttpEngine(fake(handler).url), ["2+2"])[0].usage.thought_tokens == 0


def test_vllm_is_told_a_budget_and_its_template_to_think(fake):
    async def handler(body):
        assert body["thinking_token_budget"] == 100
        assert body["structured_outputs"]
        kwargs = {"enable_thinking": True, "thinking": True, "reasoning_effort": "low"}
        assert body["chat_template_kwargs"] == kwargs
        assert body["vllm_xargs"]["rel_ol"] == 100 + 4
        return thought("yes", reasoning="well")

    engine = HttpEngine(fake(handler, models=VLLM).url)
    (reply,) = ask(engine, ["2+2"], thinking=100, max_tokens=4, grammar=YES_NO)
    assert (reply.text, reply.usage.thought_tokens) == ("yes", 7)


def test_vllm_without_budgets_is_asked_without_one(fake):
    message = "thinking_token_budget is set but reasoning_config is not configured."
    server = fake(refusing("thinking_token_budget", message), models=VLLM)
    assert texts(ask(HttpEngine(server.url), ["a", "b"], thinking=100)) == ["yes"] * 2
    assert "thinking_token_budget" not in server.requests[-1][1]
    assert "reasoning_effort" in server.requests[-1][1]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thoughts_without_an_answer_are_none(fake, field):
    async def handler(body):
        return said(None, **{field: "two and two"})

    (reply,) = ask(HttpEngine(fake(handler).url), ["2+2"], thinking=9)
    assert (reply.text, reply.failure.message) == (None, "the reply has thoughts and no answer after them")


@pytest.mark.parametrize(
    ("models", "why"), [(VLLM, "without --reasoning-parser"), (LLAMA_CPP, "tells no thoughts from answers")]
)
def test_a_server_whose_grammar_leaves_no_thoughts_is_told_of(fake, models, why):
    async def handler(body):
        return said("yes", usage={"prompt_tokens": 5, "completion_tokens": 1})

    engine = HttpEngine(fake(handler, models=models).url)
    with pytest.raises(OptionError, match=why):
        ask(engine, ["a"], thinking=100, grammar=YES_NO)
    assert texts(ask(engine, ["a"], grammar=YES_NO)) == ["yes"]


@pytest.mark.parametrize(
    ("field", "message", "models"),
    [
        ("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort", None),
        ("reasoning_effort", "Unsupported value: 'reasoning_effort' does not support 'low'", None),
        ("chat_template_kwargs", "chat_template is not supported for Mistral tokenizers.", VLLM),
    ],
)
def test_a_server_that_refuses_thoughts_is_not_asked_without(fake, field, message, models):
    server = fake(refusing(field, message), **({"models": models} if models else {}))
    with pytest.raises(OptionError, match=r"cannot be asked to think: HTTP 400.*leave thinking out"):
        ask(HttpEngine(server.url), ["a"], thinking=9)


def test_completions_have_no_thoughts(fake):
    async def handler(body):
        if "messages" in body:
            return Answered(404, {"error": {"message": "no such path"}})
        return Answered(200, {"choices": [{"text": "yes"}]})

    engine = HttpEngine(fake(handler).url)
    with pytest.raises(OptionError, match="no chat endpoint"):
        ask(engine, ["a"], thinking=9)
    assert texts(ask(engine, ["a"])) == ["yes"]


@pytest.mark.vllm
@pytest.mark.engine_of_its_own
def test_a_real_vllm_server_answers_after_thoughts(tmp_path):
    """Of a model that ends its thoughts after a word or two, where no budget ends them before."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    model, parser = make(tmp_path / "thinker", ALWAYS), ("--reasoning-parser", "qwen3")
    server = VllmServer(model, tmp_path / "serve.log", arguments=parser)
    asked = {"grammar": YES_NO, "max_tokens": 4, "temperature": 1.0, "seed": 1}
    prompts = [f"Was guest {i} happy with the soup?" for i in range(20)]
    thoughts = {}
    try:
        server.ensure_up()
        engine = HttpEngine(server.url)
        for budget in (1, 60):
            replies = ask(engine, prompts, **asked, thinking=budget)
            assert {reply.text for reply in replies} <= set(YES_NO.choices)
            spent = [reply.usage.output_tokens for reply in replies]
            assert 2 < min(spent) <= max(spent) <= budget + 1 + 5  # the mark, then the answer and its end
            thoughts[budget] = [reply.usage.thought_tokens for reply in replies]
        spawn(engine.close()).result(timeout=PATIENCE_S)
    finally:
        server.stop()
    assert max(thoughts[1]) <= 1 <= max(thoughts[60]) < 60  # with room for more, the model ends them itself
    assert thoughts[1] != thoughts[60]  # else the budget does
