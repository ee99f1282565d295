"""The HTTP engine against a server that refuses, stalls, lies and vanishes."""

from __future__ import annotations

import asyncio
import socket
import time
from email.utils import formatdate

import pytest
from asking import ask, collect, submission_of, texts
from http_fakes import Answered, Hangup, said
from server_process import free_port

from relserve.engines.http import rows as http_rows
from relserve.engines.http import server as http_server
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineDeadError, EngineStartError, FailureKind, ModelError
from tests.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def _short_delays(monkeypatch):
    monkeypatch.setattr(http_rows, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr("relserve.engines.http.concurrency_limit.FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr("relserve.engines.http.concurrency_limit.LONGEST_PAUSE_S", 0.1)


def echo_of(body):
    return body["messages"][-1]["content"] if "messages" in body else body["prompt"]


def then_echo(*first):
    """Give these replies (or raise these errors) first, then echo."""
    left = list(first)

    async def handler(body):
        if left:
            reply = left.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply
        return said(echo_of(body))

    return handler


def refusing(status, message, **fields):
    async def handler(body):
        return Answered(status, {"error": {"message": message, **fields}})

    return handler


@pytest.mark.cells(6)
@pytest.mark.parametrize(
    "first",
    [
        Answered(500, {"error": {"message": "oops"}}),
        Answered(502, b"<html>bad gateway</html>", content_type="text/html"),
        Answered(429, {"error": {"message": "slow down"}}),
        Answered(503, {"error": {"message": "overloaded"}}),
        Answered(200, b"{not json"),
        Answered(200, b"plain", content_type="text/plain"),
        Answered(200, {"choices": []}),
        Answered(200, None),
        said("half", "abort"),
        said("", "error"),
        Answered(raw=b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"),
        Answered(raw=b"\x00\x01 not HTTP\r\n\r\n"),
        Hangup(),
    ],
    ids=[
        "500",
        "502",
        "429",
        "503",
        "bad-json",
        "text",
        "no-choice",
        "null",
        "abort",
        "error",
        "cut",
        "junk",
        "hangup",
    ],
)
def test_a_passing_fault_costs_no_answer(fake, first):
    server = fake(then_echo(first, first))
    assert texts(ask(HttpEngine(server.url), ["a", "b", "c"])) == ["a", "b", "c"]
    assert len(server.requests) == 5


def test_a_grammar_that_vllm_takes_too_long_over_is_sent_once_more(fake):
    timed_out = Answered(
        400, {"error": {"message": "Invalid structured outputs: Regex compilation timed out after 5s."}}
    )
    server = fake(then_echo(timed_out))
    assert texts(ask(HttpEngine(server.url), ["a"])) == ["a"]
    (reply,) = ask(HttpEngine(fake(then_echo(timed_out, timed_out)).url), ["a"])
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.ENGINE
    assert "compilation timed out after 5s" in reply.failure.message


@pytest.mark.performance
@pytest.mark.parametrize("form", ["seconds", "ms", "date"])
def test_retry_after_is_waited_for(fake, form, limit_s):
    came = []

    async def refuse_once(body):
        came.append(time.monotonic())
        if len(came) > 1:
            return said(echo_of(body))
        value = {"seconds": "0.5", "ms": "500", "date": formatdate(time.time() + 2, usegmt=True)}[form]
        return Answered(429, {}, {"Retry-After-Ms" if form == "ms" else "Retry-After": value})

    assert texts(ask(HttpEngine(fake(refuse_once).url), ["a"])) == ["a"]
    first, second = came
    assert 0.45 < second - first < limit_s(4)


def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for(fake):
    async def handler(body):
        return Answered(429, {"error": {"message": "daily limit"}}, {"Retry-After": "3600"})

    (reply,) = ask(HttpEngine(fake(handler).url), ["a"])
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.ENGINE
    assert "daily limit" in reply.failure.message
    assert "3600" in reply.failure.message


@pytest.mark.long
def test_a_storm_of_refusals_ends_with_every_answer(fake):
    running = 0

    async def handler(body):
        nonlocal running
        if running >= 10:
            return Answered(429, {"error": {"message": "slow down"}})
        running += 1
        await asyncio.sleep(0.01)
        running -= 1
        return said(echo_of(body))

    server = fake(handler)
    prompts = [f"row {i}" for i in range(1000)]
    assert texts(ask(HttpEngine(server.url), prompts)) == prompts
    assert len(server.requests) < 3000


def test_a_row_that_always_fails_fails_alone(fake):
    async def handler(body):
        return Answered(500, {"error": {"message": "oops"}}) if echo_of(body) == "bad" else said("good")

    server = fake(handler)
    replies = ask(HttpEngine(server.url, max_retries=2), ["a", "bad", "c"])
    assert texts(replies) == ["good", None, "good"]
    assert replies[1].failure.kind is FailureKind.ENGINE
    assert "oops" in replies[1].failure.message
    assert len(server.requests) == 5


@pytest.mark.cells(1)
@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_never_answers_a_row_is_dead(fake, status):
    server = fake(refusing(status, "no"))
    with pytest.raises(EngineDeadError, match=f"HTTP {status}: no"):
        ask(HttpEngine(server.url, max_retries=2, max_in_flight=4), ["row"] * 1000)
    assert len(server.requests) < 200


def test_a_slow_row_times_out_and_is_tried_once_more(fake):
    async def handler(body):
        await asyncio.sleep(30 if echo_of(body) == "slow" else 0)
        return said("done")

    server = fake(handler)
    replies = ask(HttpEngine(server.url, timeout_s=1.0), ["a", "slow"])
    assert texts(replies) == ["done", None]
    assert replies[1].failure.kind is FailureKind.ENGINE
    assert "in time" in replies[1].failure.message
    assert [echo_of(body) for _, body in server.requests].count("slow") == 2


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 2048 tokens. However, ...", FailureKind.OVER_CONTEXT),
        (400, "the request exceeds the available context size", FailureKind.OVER_CONTEXT),
        (413, "Payload Too Large", FailureKind.OVER_CONTEXT),
        (400, "stop must have at most 4 items", FailureKind.REFUSED),
        (422, "value is not a valid float", FailureKind.REFUSED),
        (403, "flagged by moderation", FailureKind.REFUSED),
    ],
)
def test_a_refused_row_fails_alone_with_the_servers_words(fake, status, message, kind):
    async def handler(body):
        if echo_of(body) == "bad":
            await asyncio.sleep(0.1)
            return Answered(status, {"error": {"message": message}})
        return said("good")

    server = fake(handler)
    replies = ask(HttpEngine(server.url), ["a", "bad", "c"])
    assert texts(replies) == ["good", None, "good"]
    assert replies[1].failure == (kind, f"HTTP {status}: {message}")
    assert len(server.requests) == 3


def test_filtered_and_refused_replies_are_failures(fake):
    async def handler(body):
        if echo_of(body) == "filter":
            return said("", finish_reason="content_filter")
        return said(None, refusal="I would rather not")

    replies = ask(HttpEngine(fake(handler).url), ["filter", "refuse"])
    assert [r.failure.kind for r in replies] == [FailureKind.REFUSED] * 2


@pytest.mark.parametrize(
    ("status", "fields", "error"),
    [
        (401, {}, EngineStartError),
        (403, {}, EngineStartError),
        (402, {}, EngineDeadError),
        (429, {"code": "insufficient_quota"}, EngineDeadError),
        (429, {"type": "insufficient_quota"}, EngineDeadError),
    ],
)
def test_what_concerns_every_row_ends_the_query(fake, status, fields, error):
    server = fake(refusing(status, "not with this key", **fields))
    with pytest.raises(error, match="not with this key"):
        ask(HttpEngine(server.url, max_in_flight=1), ["a"] * 100)
    assert len(server.requests) == 1


def test_the_key_is_sent_and_asked_for(fake):
    server = fake(then_echo())
    ask(HttpEngine(server.url, api_key="sesame"), ["a"])
    assert server.headers[0]["authorization"] == "Bearer sesame"
    server = fake(then_echo(), models={"error": {"message": "who are you?"}}, models_status=401)
    with pytest.raises(EngineStartError, match=r"127\.0\.0\.1.*API key.*who are you"):
        ask(HttpEngine(server.url), ["a"])


@pytest.mark.performance
def test_nobody_listens(limit_s):
    started = time.monotonic()
    with pytest.raises(EngineStartError, match=r"no LLM server answers at http://127\.0\.0\.1:"):
        ask(HttpEngine(f"http://127.0.0.1:{free_port()}"), ["a"])
    assert time.monotonic() - started < limit_s(5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"models": {"detail": "Not Found"}, "models_status": 404}, "models gives HTTP 404"),
        ({"models": {"hello": "world"}}, "not an OpenAI-compatible server"),
        ({"models": ["x"]}, "not an OpenAI-compatible server"),
        ({"models": {}, "models_status": 500}, "HTTP 500"),
    ],
)
def test_the_port_is_somebody_elses(fake, fields, message):
    with pytest.raises(EngineStartError, match=message):
        ask(HttpEngine(fake(then_echo(), **fields).url), ["a"])


def test_the_port_does_not_speak_http():
    async def go():
        async def greet(reader, writer):
            writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await collect(HttpEngine(f"http://127.0.0.1:{port}"), submission_of(["a"]))

    with pytest.raises(EngineStartError, match="no LLM server answers"):
        spawn(go()).result(timeout=PATIENCE_S)


def test_the_port_takes_the_connection_and_says_nothing(monkeypatch):
    monkeypatch.setattr(http_server, "LIST_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        with pytest.raises(EngineStartError, match=r"no LLM server answers .*in time"):
            ask(HttpEngine(f"http://127.0.0.1:{mute.getsockname()[1]}"), ["a"])


@pytest.mark.parametrize(
    "url", ["localhost:8000", "http://localhost:eight/v1", "http://[::1/v1", "http:///v1", "http://h:65536"]
)
def test_url_must_be_one(url):
    with pytest.raises(ModelError, match="http://host:port/v1"):
        HttpEngine(url)


def test_a_server_that_vanishes_is_dead_and_may_come_back(fake):
    server = fake(then_echo())
    port = int(server.url.split(":")[-1].split("/")[0])
    engine = HttpEngine(server.url, max_retries=2)
    assert texts(ask(engine, ["a"])) == ["a"]

    came = []

    async def vanish_after_ten():
        async for batch in engine.answer(submission_of([str(i) for i in range(5000)])):
            came.extend(batch)
            if len(came) >= 10:
                await server.stop()

    with pytest.raises(EngineDeadError, match="no longer answers"):
        spawn(vanish_after_ten()).result(timeout=PATIENCE_S)
    assert came
    assert all(reply.text == str(reply.index) for reply in came)
    with pytest.raises(EngineStartError):
        ask(engine, ["b"])
    spawn(server.start(port)).result(timeout=PATIENCE_S)
    assert texts(ask(engine, ["b"])) == ["b"]
