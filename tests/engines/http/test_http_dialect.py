"""The HTTP engine and what servers understand: chat, completions, grammars, fields of their own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts
from http_fakes import Answered, said

from relserve.call.answer_types import Grammar
from relserve.call.schema import shape_of
from relserve.engines.http import server as http_server
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineStartError, FailureKind, ModelError

YES_NO = Grammar(choices=("yes", "no"))
VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
LONE = "\ud83d"


def refuse(message, status=400):
    return Answered(status, {"error": {"message": message}})


def served(*names):
    return {"data": [{"id": name, "owned_by": "somebody"} for name in names]}


async def yes(body):
    return said("yes", usage={"prompt_tokens": 7, "completion_tokens": 1})


def last(server):
    return server.requests[-1][1]


def test_chat_with_a_system_message_and_every_sampling_field(fake):
    server = fake(yes)
    (reply,) = ask(
        HttpEngine(server.url),
        ["p"],
        "be brief",
        temperature=0.5,
        top_p=0.9,
        seed=3,
        stop=("\n",),
        max_tokens=5,
    )
    assert server.requests[0] == (
        "/v1/chat/completions",
        {
            "model": "fake",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "p"}],
            "temperature": 0.5, "top_p": 0.9, "seed": 3, "stop": ["\n"], "max_tokens": 5,
        },
    )  # fmt: skip
    assert reply.usage == (7, 0, 1, 0)
    assert reply.times is None


@pytest.mark.parametrize(
    "refusal",
    [
        Answered(404, {"detail": "Not Found"}),
        Answered(405, b"", content_type="text/plain"),
        refuse("default chat template is no longer allowed, so you must provide a chat template"),
    ],
    ids=["404", "405", "no-template"],
)
def test_completions_where_there_is_no_chat(fake, refusal):
    async def handler(body):
        if "messages" in body:
            return refusal
        return Answered(200, {"choices": [{"text": body["prompt"], "finish_reason": "stop"}]})

    server, prompts = fake(handler), ["a", "b"]
    engine = HttpEngine(server.url)
    assert texts(ask(engine, prompts, "be brief")) == ["be brief\na", "be brief\nb"]
    assert texts(ask(engine, prompts)) == prompts
    assert [path for path, _ in server.requests[3:]] == ["/v1/completions"] * 2, "one row alone found out"


def test_neither_chat_nor_completions(fake):
    async def handler(body):
        return Answered(404, {"detail": "Not Found"})

    with pytest.raises(EngineStartError, match="neither"):
        ask(HttpEngine(fake(handler).url), ["a"] * 10)


def test_vllm_gets_the_grammar_and_the_relquery(fake):
    server = fake(yes, models=VLLM)
    engine = HttpEngine(server.url)
    ask(engine, ["a", "b", "c"], grammar=YES_NO, max_tokens=100)
    rule = 'root ::= " "? (("y" | "Y") "es" | ("n" | "N") "o")'
    assert last(server)["structured_outputs"] == {"grammar": rule}
    xargs = last(server)["vllm_xargs"]
    assert (xargs["rel_rows"], xargs["rel_ol"], xargs["rel_likely"]) == (3, 4, 4)
    assert len({body["vllm_xargs"]["rel_id"] for _, body in server.requests}) == 1
    assert (last(server)["repetition_penalty"], last(server)["top_k"], last(server)["top_p"]) == (1.0, 0, 1.0)
    ask(engine, ["a"], grammar=Grammar(regex="[0-9]"), max_tokens=3)
    assert last(server)["structured_outputs"] == {"regex": " ?([0-9])"}
    assert last(server)["vllm_xargs"]["rel_ol"] == 3


def test_other_servers_get_a_json_schema_and_the_answer_is_unwrapped(fake):
    async def handler(body):
        answer = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
        return said(json.dumps({"answer": answer["enum"][1] if "enum" in answer else "4"}))

    engine = HttpEngine(fake(handler).url)
    assert texts(ask(engine, ["a"], grammar=YES_NO)) == ["no"]
    assert texts(ask(engine, ["a"], grammar=Grammar(regex="[0-9]"))) == ["4"]


def test_free_text_that_looks_wrapped_stays_as_it_is(fake):
    async def handler(body):
        assert "response_format" not in body
        return said('{"answer": "x"}')

    assert texts(ask(HttpEngine(fake(handler).url), ["a"])) == ['{"answer": "x"}']


def test_plain_text_where_a_schema_is_refused_by_shape_and_once(fake):
    async def handler(body):
        schema = str(body.get("response_format"))
        if "pattern" in schema:
            return refuse("Invalid schema for response_format: 'pattern' is not permitted")
        return said('{"answer": "yes"}' if "enum" in schema else "5")

    server = fake(handler)
    engine = HttpEngine(server.url, max_in_flight=1)
    assert texts(ask(engine, ["a", "b"], grammar=Grammar(regex="[0-9]"))) == ["5", "5"]
    assert len(server.requests) == 3
    assert texts(ask(engine, ["a"], grammar=YES_NO)) == ["yes"]
    assert "response_format" in last(server)


def test_a_server_that_ignores_the_schema(fake):
    assert texts(ask(HttpEngine(fake(yes).url), ["a"], grammar=YES_NO)) == ["yes"]


@pytest.mark.parametrize("num", [500, 501])
def test_more_choices_than_a_schema_may_hold_go_as_plain_text(fake, num):
    server = fake(yes)
    texts = tuple(map(str, range(num)))
    kinds = shape_of(json.dumps({"kinds": [f"ENUM({str(texts)[1:-1]})"], "n": "INTEGER"}))
    for grammar in (Grammar(choices=texts), Grammar(shape=kinds)):
        ask(HttpEngine(server.url), ["a"], grammar=grammar)
        assert ("response_format" in last(server)) == (num == 500)


def test_max_completion_tokens_where_the_server_wants_that(fake):
    async def handler(body):
        if "max_tokens" in body:
            return refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in body:
            return refuse("Unsupported value: 'temperature' does not support 0 with this model.")
        return said(str(body["max_completion_tokens"]))

    server = fake(handler)
    engine = HttpEngine(server.url, max_in_flight=1)
    assert texts(ask(engine, ["a", "b"], max_tokens=9)) == ["9", "9"]
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "System role not supported"),  # Gemma
        (400, "Only user and assistant roles are supported!"),  # Mistral
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (500, "Jinja Exception: System role not supported in this chat template"),
        (500, "Conversation roles must alternate user/assistant/user/assistant/..."),  # llama.cpp
    ],
)
def test_a_system_message_goes_before_the_prompt_where_the_template_refuses_it(fake, status, words):
    async def handler(body):
        roles = [message["role"] for message in body["messages"]]
        return refuse(words, status) if roles != ["user"] else said(body["messages"][0]["content"])

    server = fake(handler)
    engine = HttpEngine(server.url, max_in_flight=1)
    assert texts(ask(engine, ["a", "b"], "Be brief.")) == ["Be brief.\n\na", "Be brief.\n\nb"]
    assert texts(ask(engine, ["c"])) == ["c"]
    assert len(server.requests) == 4


def test_a_refusal_that_a_single_message_does_not_mend_is_told(fake):
    async def handler(body):
        return refuse("System role not supported")

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], "Be brief.")
    assert reply.failure.kind is FailureKind.REFUSED
    assert "System role" in reply.failure.message


def test_a_value_out_of_range_is_refused_and_not_dropped(fake):
    async def handler(body):
        return refuse("temperature must be at most 2, got 2.5")

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"], temperature=2.5)
    assert reply.failure.kind is FailureKind.REFUSED


@pytest.mark.parametrize(
    ("message", "finish", "text"),
    [
        ({"content": "4", "reasoning_content": "two and two"}, "stop", "4"),
        ({"content": "<think>two and two</think>\n\n4"}, "stop", "4"),
        ({"content": "two and two</think>\n\n4"}, "stop", "4"),  # the template opened them
        ({"content": "4 <think>or not</think>"}, "stop", "4 <think>or not</think>"),
        ({"content": "a <b"}, "length", "a <b"),
        ({"content": "two. So, in short.</think>4"}, "stop", "4"),
        ({"content": "The tag </think> ends thoughts."}, "stop", "The tag </think> ends thoughts."),
        ({"content": "Write `</think>`, then 4"}, "stop", "Write `</think>`, then 4"),
        ({"content": "I write </think> soon.\n</think>\n\n4"}, "stop", "4"),
        ({"content": "<think>The user asks."}, "stop", None),  # at a stop string
        ({"content": "<think>two and two</think>\n"}, "stop", None),
        ({"content": "[THINK]two[/THINK]4"}, "stop", "4"),
        ({"content": "[THINK]The user asks."}, "stop", None),
        ({"content": "two and two\n</seed:think>4"}, "stop", "4"),
        ({"content": ""}, "stop", None),
        ({"content": ""}, "length", None),
        ({"content": "", "reasoning": "two and"}, "length", None),
        ({"content": "<think>two and"}, "length", None),
        ({"content": None, "reasoning_content": "two and"}, "length", None),
    ],
)
def test_thoughts_are_not_answers(fake, message, finish, text):
    async def handler(body):
        return said(finish_reason=finish, **message)

    (reply,) = ask(HttpEngine(fake(handler).url), ["2+2"])
    assert reply.text == text
    assert (reply.failure is None) == (text is not None)


def test_lone_surrogates_neither_go_out_nor_come_in(fake):
    async def handler(body):
        return Answered(200, b'{"choices": [{"message": {"content": "x\\ud83dy \\ud83d\\ude00"}}]}')

    server = fake(handler)
    (reply,) = ask(HttpEngine(server.url), [f"a{LONE}b 😀"], f"s{LONE}", stop=(LONE,))
    assert reply.text == "x\ufffdy 😀"
    assert [m["content"] for m in last(server)["messages"]] == ["s\ufffd", "a\ufffdb 😀"]


def test_usage_with_cached_tokens(fake):
    async def handler(body):
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
        return said("x", usage=usage)

    assert ask(HttpEngine(fake(handler).url), ["a"])[0].usage == (9, 4, 2, 0)


def test_the_served_model(fake):
    server = fake(yes, models=served("big", "small:latest"))
    for engine in (HttpEngine(server.url, served_model="big"), HttpEngine(f"{server.url}#big")):
        assert engine.model == f"{server.url}#big"
        ask(engine, ["a"])
        assert last(server)["model"] == "big"
    ask(HttpEngine(server.url, served_model="small"), ["a"])
    assert last(server)["model"] == "small:latest"
    with pytest.raises(ModelError, match="does not serve 'huge'; it serves 'big', 'small:latest'"):
        ask(HttpEngine(server.url, served_model="huge"), ["a"])
    with pytest.raises(ModelError, match=r"several models; write '.*#model' with one of 'big'"):
        ask(HttpEngine(server.url), ["a"])


def test_a_list_that_puts_a_folder_before_names(fake):
    server = fake(yes, models=served("models/gemini-2.5-flash", "models/gemini-2.5-pro"))
    ask(HttpEngine(server.url, served_model="gemini-2.5-pro"), ["a"])
    assert last(server)["model"] == "models/gemini-2.5-pro"


def test_a_host_whose_list_is_of_no_use_is_not_asked_for_it(fake, monkeypatch):
    monkeypatch.setattr(http_server, "lists_all", lambda url: False)
    server = fake(yes, models=served("dated-name"))
    assert texts(ask(HttpEngine(server.url, served_model="alias"), ["a"])) == ["yes"]
    assert (last(server)["model"], server.num_gets) == ("alias", 0)


def test_vllms_adapters_come_after_its_model(fake):
    models = {"data": [{"id": "base", "owned_by": "vllm"}, {"id": "lora", "owned_by": "vllm"}]}
    server = fake(yes, models=models)
    ask(HttpEngine(server.url), ["a"])
    assert last(server)["model"] == "base"


def test_no_model_and_no_list(fake):
    with pytest.raises(ModelError, match="serves no model"):
        ask(HttpEngine(fake(yes, models=served()).url), ["a"])
    server = fake(yes, models={}, models_status=404)
    assert texts(ask(HttpEngine(server.url, served_model="m"), ["a"])) == ["yes"]

    async def gone(body):
        return refuse("The model `m` does not exist.", 404)

    server = fake(gone, models={}, models_status=404)
    with pytest.raises(ModelError, match="does not serve 'm'"):
        ask(HttpEngine(server.url, served_model="m"), ["a"])


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_v1_may_be_left_out(fake, suffix):
    server = fake(yes)
    assert texts(ask(HttpEngine(server.url.removesuffix("/v1") + suffix), ["a"])) == ["yes"]


def test_vllm_gets_the_deadline_and_the_place_in_the_workflow(fake):
    server = fake(yes, models=VLLM)
    asked = replace(submission_of(["a"]), workflow_id="wf-1", stage="revise", deadline_s=9e9)
    spawn(collect(HttpEngine(server.url), asked)).result(timeout=60)
    xargs = last(server)["vllm_xargs"]
    told = (xargs["rel_workflow"], xargs["rel_stage"], xargs["rel_deadline_s"])
    assert told == ("wf-1", "revise", 9e9)


@pytest.mark.parametrize(
    ("owner", "expected"),
    [("vllm", {"cache_salt": "s"}), ("llamacpp", {"cache_prompt": False}), ("somebody", {})],
)
@pytest.mark.parametrize("salt", ["s", None])
def test_a_salt_is_told_in_the_servers_words(fake, owner, expected, salt):
    server = fake(yes, models={"data": [{"id": "m", "owned_by": owner, "meta": {}}]})
    submission = replace(submission_of(["a"]), cache_salt=salt)
    spawn(collect(HttpEngine(server.url), submission)).result(timeout=TIMEOUT_S)
    told = {name: last(server)[name] for name in ("cache_salt", "cache_prompt") if name in last(server)}
    assert told == (expected if salt else {})
