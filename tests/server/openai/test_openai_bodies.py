"""What clients send: what goes on to the engine, and what is refused with a reason."""

from __future__ import annotations

import gc
import json
import time

import httpx
import openai
import pytest

from relserve.server.openai.exchange import MAX_BODY
from tests.server.openai.chatting import chat


def post(gateway, content, path="/chat/completions"):
    headers = {"Content-Type": "application/json"}
    return httpx.post(gateway.url + path, content=content, headers=headers, timeout=60)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe{}", "no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"model": NaN}', "NaN is no JSON"),
        (b'{"model": "scripted", "temperature": 1e999}', "no JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b"{}", "must provide a model"),
        (b'{"model": 3}', "must provide a model"),
        (b'{"model": "scripted", "stream": "yes"}', "stream is true or false"),
        (b'{"model": "scripted", "stream": true, "stream_options": 3}', "stream_options an object"),
        (b'{"model": "scripted", "vllm_xargs": []}', "vllm_xargs is an object"),
        (b'{"model": "scripted", "vllm_xargs": {"rel_deadline_s": 3}}', "rel_deadline_s is not for clients"),
        (b'{"model": "scripted", "deadline": -1}', "deadline must be from 0.001"),
        (b'{"model": "scripted", "deadline": "soon"}', "deadline must be a length of time"),
        (b'{"model": "scripted", "slo": 3}', "slo must be the name of a class"),
        (b'{"model": "scripted", "max_tokens": "4000"}', "max_tokens is a whole number"),
        (b'{"model": "scripted", "max_completion_tokens": 4000.0}', "is a whole number"),
        (b'{"model": "scripted", "n": true}', "n is a whole number"),
        (b'{"model": "scripted", "stop": [' + b'"a", ' * 64 + b'"b"]}', "stop has 65 entries"),
        (b'{"model": "scripted", "vllm_xargs": {"rel_rows": 1e9}}', "rel_rows is a whole number from 1"),
        (b'{"model": "scripted", "vllm_xargs": {"rel_rows": 10000000}}', "rel_rows is a whole number"),
    ],
)  # fmt: skip
def test_bad_bodies_are_refused_with_the_reason(gateway, upstream, content, why):
    gc.disable()  # what it ends as deep in a stack as this one goes cannot say what is wrong with it
    try:
        reply = post(gateway, content)
    finally:
        gc.enable()
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (400, "invalid_request_error")
    assert why in error["message"]
    assert set(error) == {"message", "type", "param", "code"}
    assert not upstream.asked


def test_a_body_that_is_too_large_is_refused(gateway, upstream):
    reply = post(gateway, b" " * (MAX_BODY + 1))
    assert reply.status_code == 413
    assert not upstream.asked


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/chat/completions", 405), ("POST", "/models", 405), ("POST", "/embeddings", 404),
        ("GET", "/../etc/passwd", 404), ("DELETE", "/models/scripted", 405), ("POST", "/completions/x", 404),
    ],
)  # fmt: skip
def test_other_urls_and_methods(gateway, method, path, status):
    reply = httpx.request(method, gateway.url + path)
    assert (reply.status_code, reply.json()["error"]["type"]) == (status, "invalid_request_error")


def test_what_an_engine_says_of_its_own_mistake_stays_in_the_log(gateway, upstream, caplog):
    upstream.refuses = 500, {"error": {"message": "KeyError in /home/x", "code": 500}}, {}
    with pytest.raises(openai.InternalServerError, match="the server's log says why") as caught:
        chat(gateway.client())
    assert "KeyError" not in str(caught.value)
    assert "KeyError in /home/x" in caplog.text


def test_what_the_engine_refuses_is_told_in_openais_shape(gateway, upstream):
    said = {
        "message": "max_tokens must be at least 1",
        "type": "BadRequestError",
        "param": "max_tokens",
        "code": 400,
    }
    upstream.refuses = 400, {"error": said}, {}
    with pytest.raises(openai.BadRequestError, match="max_tokens must be at least 1") as caught:
        chat(gateway.client(), stream=True)
    assert (caught.value.param, caught.value.type, caught.value.code) == (
        "max_tokens", "invalid_request_error", None,
    )  # fmt: skip


def test_pictures_that_the_server_would_fetch_are_refused(gateway, upstream):
    for url in ("http://169.254.169.254/latest", "file:///etc/passwd", "//x", 3):
        part = {"type": "image_url", "image_url": {"url": url}}
        with pytest.raises(openai.BadRequestError, match="the server fetches nothing"):
            chat(gateway.client(), messages=[{"role": "user", "content": [part]}])
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    chat(gateway.client(), messages=[{"role": "user", "content": [part]}])
    assert len(upstream.asked) == 1


def test_a_grammar_that_would_hold_up_the_engine_is_refused(gateway, upstream):
    words = {"choice": [f"word {number}" for number in range(20_000)]}
    with pytest.raises(openai.BadRequestError, match=r"structured_outputs has .* the most is 40,000"):
        chat(gateway.client(), extra_body={"structured_outputs": words})
    assert not upstream.asked


def test_a_plain_request_is_left_to_the_scheduler_as_an_ordinary_one(gateway, upstream):
    chat(gateway.client())
    (asked, headers), *_ = upstream.asked
    assert asked["vllm_xargs"] == {}
    assert json.loads(headers["x-relserve-enters"])["slo"] is None
    assert json.loads(headers["x-relserve-enters"])["waits"] is True


def test_a_clients_span_is_told_to_the_engines_server(gateway, upstream):
    told = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "vendor=1"}
    chat(gateway.client(), extra_headers=told)
    chat(gateway.client())
    (_, headers), (_, others) = upstream.asked
    assert {name: headers[name] for name in told} == told
    assert not told.keys() & others.keys()


def test_a_deadline_is_told_to_gate_and_scheduler(keyed, book, upstream):
    chat(keyed.client(book.add("ann b")), extra_body={"deadline": "30 s"})
    (asked, headers), *_ = upstream.asked
    tags, entering = asked["vllm_xargs"], json.loads(headers["x-relserve-enters"])
    assert 20 < tags["rel_deadline_s"] - time.time() <= 30
    assert tags["rel_id"].startswith("openai ann%20b ")
    assert (tags["rel_rows"], entering["slo"], entering["waits"]) == (1, 30.0, False)
    assert "deadline" not in asked


def test_a_users_own_deadline_holds_for_requests_without_one(keyed, book, upstream, monkeypatch):
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", '{"interactive": {"ttft": "1 s", "tpot": "50 ms"}}')
    client = keyed.client(book.add("ann", deadline_s=7.0))
    chat(client)
    chat(client, extra_body={"deadline": 9, "slo": "interactive"})
    slos = [json.loads(headers["x-relserve-enters"])["slo"] for _, headers in upstream.asked]
    assert slos == [7.0, "interactive"]


def test_limits_of_tokens_reach_the_scheduler(keyed, book, upstream, monkeypatch):
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", '{"interactive": {"ttft": "1 s", "tpot": "50 ms"}}')
    chat(keyed.client(book.add("ann", slo="interactive")))
    chat(keyed.client(book.add("bob")), extra_body={"slo": {"tpot": "20 ms"}})
    (anns, headers), (bobs, _) = upstream.asked
    assert (anns["vllm_xargs"]["rel_ttft_slo_s"], anns["vllm_xargs"]["rel_tpot_slo_s"]) == (1.0, 0.05)
    assert json.loads(headers["x-relserve-enters"])["slo"] == "interactive"
    assert bobs["vllm_xargs"] == {"rel_tpot_slo_s": 0.02}
    assert "slo" not in anns | bobs


def test_an_unknown_class_of_limits_is_told_with_those_that_there_are(gateway, upstream, monkeypatch):
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", '{"interactive": {"ttft": "1 s"}}')
    with pytest.raises(openai.BadRequestError, match="no class 'quick'; there are: interactive"):
        chat(gateway.client(), extra_body={"slo": "quick"})
    assert not upstream.asked


def test_relqueries_of_one_name_are_two_users_own(keyed, book, upstream):
    for name in ("ann", "bob"):
        tags = {"rel_id": "nightly", "rel_rows": 50, "rel_workflow": 7}
        keyed.client(book.add(name)).completions.create(
            model="scripted", prompt=["a b", "c"], max_tokens=2, extra_body={"vllm_xargs": tags}
        )
    found = [asked["vllm_xargs"] for asked, _ in upstream.asked]
    assert found[0] == {"rel_id": "openai ann nightly", "rel_rows": 50, "rel_workflow": "openai ann 7"}
    assert found[1]["rel_id"] == "openai bob nightly"
    entering = json.loads(upstream.asked[0][1]["x-relserve-enters"])
    request_id = upstream.asked[0][1]["x-request-id"]
    assert entering["ids"] == [f"cmpl-{request_id}-0", f"cmpl-{request_id}-1"]
    assert entering["max_tokens"] == 4


def test_what_engines_say_among_themselves_is_not_passed_on(gateway, upstream):
    extra = {"kv_transfer_params": {"a": 1}, "request_id": "x", "priority": -5, "top_k": 3}
    chat(gateway.client(), extra_body=extra)
    asked = upstream.asked[0][0]
    assert asked["top_k"] == 3
    assert not {"kv_transfer_params", "request_id", "priority"} & asked.keys()


def test_the_gate_learns_how_long_prompts_are(gateway, upstream):
    text = "a " * 4000
    client = gateway.client()
    for _ in range(60):
        chat(client, max_tokens=1, messages=[{"role": "user", "content": text}])
    told = [json.loads(headers["x-relserve-enters"])["prompt_tokens"] for _, headers in upstream.asked]
    true = len(str([{"role": "user", "content": text}]).split())
    assert abs(told[-1] - true) < abs(told[0] - true) / 4


def test_who_may_not_ask_the_model_is_not_told_its_name(keyed, book):
    with pytest.raises(openai.NotFoundError) as error:
        chat(keyed.client(book.add("ann", models=frozenset({"other"}))), model="guess")
    assert "scripted" not in str(error.value)


def test_a_chat_without_an_end_claims_what_its_answer_may_take(keyed, book, upstream):
    """So that many at once do not go over the quota together."""
    upstream.context = 500
    client = keyed.client(book.add("ann", tokens_per_minute=600))
    chat(client, max_tokens=None)
    (_, headers), *_ = upstream.asked
    assert 400 < json.loads(headers["x-relserve-enters"])["max_tokens"] < 500


def test_a_picture_in_a_message_is_no_text_of_the_prompt(gateway, upstream):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    content = [{"type": "text", "text": "what is it?"}, picture]
    chat(gateway.client(), messages=[{"role": "user", "content": content}])
    (_, headers), *_ = upstream.asked
    assert json.loads(headers["x-relserve-enters"])["prompt_tokens"] < 100


@pytest.mark.parametrize(
    "held",
    [
        {"structured_outputs": {"regex": "((a{0,1000}){0,1000}){0,1000}"}},
        {"structured_outputs": {"grammar": 'root ::= b{0,1000}\nb ::= "a"{0,1000}'}},
        {"structured_outputs": {"json": {"type": "string", "pattern": "(a{0,1000}){0,1000}"}}},
        {"structured_outputs": {"json": json.dumps({"type": "string", "pattern": "(a{0,1000}){0,1000}"})}},
        {"structured_outputs": {"structural_tag": json.dumps({"format": {"pattern": "(a{0,99}){0,999}"}})}},
    ],
)
def test_nested_repeats_that_would_hold_up_the_engine_are_refused(gateway, upstream, held):
    with pytest.raises(openai.BadRequestError, match="repeats in repeats"):
        chat(gateway.client(), extra_body=held)
    fits = {"structured_outputs": {"regex": "([a-z]{1,50}, ){0,100}x{1,100000}"}}
    chat(gateway.client(), extra_body=fits)
    assert len(upstream.asked) == 1


@pytest.mark.parametrize("counted", ["minProperties", "maxProperties"])
def test_objects_of_many_properties_that_are_counted_are_refused(gateway, upstream, counted):
    def schema(num_properties):
        properties = {f"k{number}": {"type": "integer"} for number in range(num_properties)}
        return {"type": "array", "items": {"type": "object", "properties": properties, counted: 2}}

    with pytest.raises(openai.BadRequestError, match=f"{counted} of an object with 51 properties; the most"):
        chat(gateway.client(), extra_body={"structured_outputs": {"json": json.dumps(schema(51))}})
    chat(gateway.client(), extra_body={"structured_outputs": {"json": schema(50)}})
    assert len(upstream.asked) == 1


@pytest.mark.parametrize("properties", [5, True, None, "a" * 51])
def test_properties_that_are_no_object_are_for_the_engine_to_refuse(gateway, upstream, properties):
    schema = {"type": "object", "properties": properties, "minProperties": 1}
    chat(gateway.client(), extra_body={"structured_outputs": {"json": schema}})
    assert len(upstream.asked) == 1
