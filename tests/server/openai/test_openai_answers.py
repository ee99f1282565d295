"""Answers on their way: events, usage, clients that leave or are slow, deadlines, engines that end."""

from __future__ import annotations

import json
import math
import socket
import threading
import time

import httpx
import openai
import pytest

from relserve.server.openai.asked import CHAT, read_asked
from relserve.server.openai.events import EventStream, tokens_of
from relserve.server.openai.refusal import RETRY_S, Refusal, of_engine
from relserve.server.users.salts import Salts
from relserve.server.users.users import User
from tests.server.openai.chatting import HI, chat
from tests.waiting import PATIENCE_S, wait_until


def test_a_whole_answer_is_the_engines(gateway):
    answer = chat(gateway.client(), max_tokens=4)
    assert answer.choices[0].message.content == "word " * 4
    assert answer.usage.completion_tokens == 4


def test_events_without_usage_where_nobody_asked_for_it(gateway, upstream):
    chunks = list(chat(gateway.client(), max_tokens=4, stream=True))
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["wörd "] * 4
    assert all("usage" not in chunk.model_fields_set for chunk in chunks)
    assert gateway.quota.used("anybody") == upstream_tokens(upstream, 4)


def test_usage_at_the_end_and_throughout(gateway):
    client = gateway.client()
    at_end = list(chat(client, stream=True, stream_options={"include_usage": True}))
    assert [chunk.usage and chunk.usage.completion_tokens for chunk in at_end] == [None, None, None, 3]
    assert not at_end[-1].choices
    options = {"include_usage": True, "continuous_usage_stats": True}
    throughout = list(chat(client, stream=True, stream_options=options))
    assert [chunk.usage.completion_tokens for chunk in throughout] == [1, 2, 3, 3]


@pytest.mark.cells(1)
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_its_request(gateway, upstream, stream):
    upstream.pause_s = 0.05
    if stream:
        answer = chat(gateway.client(), max_tokens=1000, stream=True)
        next(iter(answer))
        answer.close()
    else:
        with pytest.raises(openai.APITimeoutError):
            chat(gateway.client(timeout=2), max_tokens=1000)
    wait_until(lambda: upstream.aborted == 1)
    wait_until(lambda: gateway.codes == {("anybody", 499): 1})
    assert gateway.quota.used("anybody") > 0
    assert gateway.counters.requests.read().running["anybody"] == 0


def test_tokens_of_an_answer_that_its_client_left_are_counted(gateway, upstream):
    upstream.pause_s = 0.02
    answer = chat(gateway.client(), max_tokens=1000, stream=True)
    for _ in range(5):
        next(answer)
    answer.close()
    wait_until(lambda: upstream.aborted == 1)
    prompt = len(str(HI).split())
    assert prompt + 5 <= gateway.quota.used("anybody") < prompt + 900


@pytest.mark.cells(1)
@pytest.mark.parametrize("stream", [False, True])
def test_a_deadline_ends_the_request(gateway, upstream, stream):
    upstream.pause_s = 0.05
    began = time.monotonic()
    client = gateway.client(max_retries=2)  # which is told not to try again
    if stream:
        answer = chat(client, max_tokens=1000, stream=True, extra_body={"deadline": 3})
        with pytest.raises(openai.APIError, match="deadline of 3 s has passed"):
            list(answer)
    else:
        with pytest.raises(openai.InternalServerError, match="deadline of 3 s has passed") as caught:
            chat(client, max_tokens=1000, extra_body={"deadline": 3})
        assert caught.value.status_code == 504
    assert time.monotonic() - began < 30
    assert (upstream.aborted, len(upstream.asked)) == (1, 1)
    wait_until(lambda: gateway.codes == {("anybody", 504): 1})


def test_an_engine_that_is_down_is_503_with_a_time(gateway, upstream):
    upstream.down = True
    with pytest.raises(openai.InternalServerError, match="ask again") as caught:
        chat(gateway.client())
    assert caught.value.status_code == 503
    assert int(caught.value.response.headers["retry-after"]) >= 1
    upstream.down = False
    chat(gateway.client())


def test_an_engine_that_ends_in_the_middle_is_an_error_of_the_stream(gateway, upstream):
    upstream.ends_after = 2
    answer = iter(chat(gateway.client(), max_tokens=10, stream=True))
    assert [next(answer).choices[0].delta.content for _ in range(2)] == ["wörd "] * 2
    with pytest.raises(openai.APIError, match="the engine ended"):
        next(answer)
    wait_until(lambda: gateway.codes == {("anybody", 503): 1})


def test_what_the_log_alone_should_tell_is_not_told(gateway, upstream):
    upstream.refuses = 503, {"error": {"message": "no model at /home/ann/secret"}}, {}
    with pytest.raises(openai.InternalServerError) as caught:
        chat(gateway.client())
    assert "/home" not in str(caught.value)
    assert caught.value.status_code == 503


def test_the_gates_refusal_is_429_with_its_estimate(gateway, upstream):
    line = "its limit of 3 s will probably be missed: about 17 s to its end"
    upstream.refuses = 429, {"error": {"message": line}}, {"retry-after": "17"}
    with pytest.raises(openai.RateLimitError, match="about 17 s") as caught:
        chat(gateway.client())
    assert caught.value.response.headers["retry-after"] == "17"
    assert caught.value.code == "rate_limit_exceeded"


@pytest.mark.long
def test_a_slow_client_holds_nobody_else(gateway, upstream):
    """It takes nothing of an answer that fills all buffers; others are answered meanwhile."""
    body = json.dumps({"model": "scripted", "messages": HI, "max_tokens": 60_000, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", gateway.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: has_stalled(upstream))
        for _ in range(5):
            chat(gateway.client())
        wait_until(lambda: upstream.open == 1)
        assert upstream.num_sent < 60_000
    wait_until(lambda: upstream.open == 0)
    assert upstream.aborted == 1


def test_a_server_that_ends_lets_requests_end_and_takes_no_more(gateway, upstream, monkeypatch):
    monkeypatch.setattr("relserve.server.openai.gateway.GRACE_S", PATIENCE_S)
    upstream.pause_s = 600.0
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(chat(gateway.client(), max_tokens=20)))
    asking.start()
    wait_until(lambda: upstream.open == 1)
    ending = threading.Thread(target=gateway.close)
    ending.start()
    health = gateway.url.removesuffix("/v1") + "/health"
    wait_until(lambda: httpx.get(health).status_code == 503)
    with pytest.raises(openai.InternalServerError, match="shutting down"):
        chat(gateway.client())
    upstream.pause_s = 0.0
    asking.join(60)
    ending.join(60)
    assert len(answers) == 1


def test_a_server_that_ends_gives_up_what_does_not_end(gateway, upstream, monkeypatch):
    monkeypatch.setattr("relserve.server.openai.gateway.GRACE_S", 0.2)
    upstream.pause_s = 0.05
    answer = iter(chat(gateway.client(), max_tokens=10_000, stream=True))
    next(answer)
    gateway.close()
    with pytest.raises(openai.APIError, match="shutting down"):
        list(answer)
    assert upstream.aborted == 1


@pytest.mark.performance
def test_an_answer_waits_for_no_acknowledgement(gateway, limit_s):
    """Linux delays one by 40 ms, and an answer in two parts waits for it where the server lets it."""
    with httpx.Client(base_url=gateway.url) as client:
        seconds = []
        for _ in range(21):
            began = time.perf_counter()
            assert client.get("/models").status_code == 200
            seconds.append(time.perf_counter() - began)
    assert sorted(seconds)[10] < limit_s(0.03)


def has_stalled(upstream) -> bool:
    before = upstream.num_sent
    time.sleep(0.5)
    return 0 < before == upstream.num_sent


def upstream_tokens(upstream, output: int) -> int:
    return len(str(upstream.asked[0][0]["messages"]).split()) + output


def test_a_stream_that_ends_with_the_engines_error_counts_as_one(gateway, upstream):
    upstream.ends_after, upstream.breaks = 2, True
    with pytest.raises(openai.APIError, match="it broke"):
        list(chat(gateway.client(), stream=True, max_tokens=5))
    wait_until(lambda: gateway.codes == {("anybody", 400): 1})


def test_tokens_of_several_streamed_answers_are_added_up():
    body = b'{"model": "m", "stream": true, "n": 2, "messages": []}'
    asked = read_asked(CHAT, body, "m", User("ann"), Salts(None))
    stream = EventStream(asked)

    def told(index: int, output: int) -> None:
        usage = {"prompt_tokens": 7, "completion_tokens": output}
        shown = stream.for_client(json.dumps({"choices": [{"index": index}], "usage": usage}).encode())
        assert shown == b'{"choices":[{"index":%d}]}' % index

    for index, output in ((0, 1), (1, 1), (0, 2)):
        told(index, output)
    assert stream.tokens == (7, 3)
    last = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}
    assert stream.for_client(json.dumps(last).encode()) is None
    assert stream.tokens == (7, 5)


@pytest.mark.parametrize("told", [math.inf, 10**25, -5, 2.5, "7", True, [1], None])
def test_what_is_no_number_of_tokens_is_not_counted(told):
    assert tokens_of({"prompt_tokens": told, "completion_tokens": 3}) == (0, 3)
    assert tokens_of({"prompt_tokens": told, "completion_tokens": told}) is None


@pytest.mark.parametrize("event", [b"no JSON", b"[" * 5000, b"[1]", b'{"error": "oops"}'])
def test_an_event_that_is_none_of_the_protocol_is_an_error_of_the_engine(event):
    body = b'{"model": "m", "stream": true, "messages": []}'
    stream = EventStream(read_asked(CHAT, body, "m", User("ann"), Salts(None)))
    with pytest.raises(Refusal, match="the engine failed"):
        stream.for_client(event)


def test_an_engine_that_tells_a_date_to_ask_again_at_is_asked_again_soon():
    headers = {"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}
    refusal = of_engine(429, b'{"error": {"message": "busy"}}', headers)
    assert refusal.retry_s == RETRY_S
