"""The HTTP engine's traffic: how much is under way, whose turn it is, and what stops it."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

import pytest
from asking import ask, collect, submission_of, texts
from http_fakes import Answered, said

from relserve.engines.http import concurrency_limit
from relserve.engines.http.concurrency_limit import ConcurrencyLimit
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineDeadError, EngineError, EngineStartError
from tests.waiting import PATIENCE_S


def slow(seconds):
    async def handler(body):
        await asyncio.sleep(seconds)
        return said(body["messages"][-1]["content"])

    return handler


# Of a server that takes all rows at once: others get one at first, and more as answers come.
AT_ONCE = {"data": [{"id": "fake", "owned_by": "vllm"}]}


async def eventually(condition, timeout_s=PATIENCE_S):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def test_all_rows_are_there_at_once_up_to_the_limit(fake):
    def once_there_are(num_requests):
        async def handler(body):
            await eventually(lambda: server.max_running >= num_requests)
            return said(body["messages"][-1]["content"])

        return handler

    server = fake(once_there_are(100), models=AT_ONCE)
    assert texts(ask(HttpEngine(server.url), ["x"] * 100)) == ["x"] * 100
    assert server.max_running == 100
    server = fake(once_there_are(8), models=AT_ONCE)
    ask(HttpEngine(server.url, max_in_flight=8), ["x"] * 100)
    assert server.max_running == 8


def test_replies_come_as_they_are_ready(fake):
    came = []

    async def handler(body):
        prompt = body["messages"][-1]["content"]
        await eventually(lambda: len(came) == int(prompt))
        return said(prompt)

    engine = HttpEngine(fake(handler, models=AT_ONCE).url)

    async def go():
        async for batch in engine.answer(submission_of(["2", "0", "1"])):
            came.extend(reply.index for reply in batch)

    spawn(go()).result(timeout=PATIENCE_S)
    assert came == [1, 2, 0]


@pytest.mark.performance
def test_a_short_relquery_is_not_stuck_behind_a_long_one(fake, limit_s):
    engine = HttpEngine(fake(slow(0.02)).url, max_in_flight=8)

    async def go():
        long = asyncio.create_task(collect(engine, submission_of(["long"] * 2000)))
        await asyncio.sleep(0.2)
        started = time.monotonic()
        await collect(engine, submission_of(["short"] * 8))
        seconds = time.monotonic() - started
        assert not long.done()
        long.cancel()
        return seconds

    # Two of its eight rows start per round of the long one's, so that about three rounds are needed.
    assert spawn(go()).result(timeout=PATIENCE_S) < limit_s(1.5)


@pytest.mark.parametrize("way", ["close", "cancel"])
def test_what_is_given_up_is_dropped_at_the_server(fake, way):
    server = fake(slow(600), models=AT_ONCE)
    engine = HttpEngine(server.url, max_in_flight=10)

    async def go():
        first = asyncio.create_task(collect(engine, submission_of(["x"] * 50)))
        if way == "close":
            stream = engine.answer(submission_of(["y"]))
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.2)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await stream.aclose()
        await eventually(lambda: server.num_running == 10)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await eventually(lambda: server.num_running == 0)
        assert engine.num_in_flight == 0
        num_sent = len(server.requests)
        await asyncio.sleep(0.1)
        assert len(server.requests) == num_sent == server.num_dropped

    spawn(go()).result(timeout=PATIENCE_S)
    server.handler = slow(0)
    assert texts(ask(engine, ["next"])) == ["next"]


def test_leaving_the_stream_half_way(fake):
    server = fake(slow(0.01))
    engine = HttpEngine(server.url, max_in_flight=4)

    async def go():
        async with aclosing(engine.answer(submission_of(["x"] * 500))) as stream:
            async for _ in stream:
                break
        assert engine.num_in_flight == 0
        assert len(server.requests) < 20

    spawn(go()).result(timeout=PATIENCE_S)
    assert texts(ask(engine, ["a"] * 10)) == ["a"] * 10


def test_cancel_at_any_moment_leaks_no_slot(fake):
    server = fake(slow(0.003))
    engine = HttpEngine(server.url, max_in_flight=4)

    async def go():
        for i in range(60):
            task = asyncio.create_task(collect(engine, submission_of(["x"] * 30)))
            await asyncio.sleep(i * 0.0003)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert engine.num_in_flight == 0

    spawn(go()).result(timeout=PATIENCE_S)


def test_close_ends_what_is_under_way(fake):
    engine = HttpEngine(fake(slow(600), models=AT_ONCE).url)

    async def go():
        task = asyncio.create_task(collect(engine, submission_of(["x"] * 3)))
        await eventually(lambda: engine.num_in_flight == 3)
        await engine.close()
        await task

    with pytest.raises(EngineDeadError, match="closed"):
        spawn(go()).result(timeout=PATIENCE_S)


def test_what_ends_one_relquery_for_good_ends_the_others_too(fake):
    async def handler(body):
        if body["messages"][-1]["content"] == "waits":
            await asyncio.sleep(600)
        return Answered(401, {"error": {"message": "the key was revoked"}})

    engine = HttpEngine(fake(handler, models=AT_ONCE).url)

    async def go():
        waiting = asyncio.create_task(collect(engine, submission_of(["waits"])))
        await eventually(lambda: engine.num_in_flight == 1)
        return await asyncio.gather(waiting, collect(engine, submission_of(["x"])), return_exceptions=True)

    errors = spawn(go()).result(timeout=PATIENCE_S)
    assert [type(error) for error in errors] == [EngineStartError] * 2
    assert all("the key was revoked" in str(error) for error in errors)


def test_more_requests_at_once_than_clients_allow_by_themselves(fake):
    async def handler(body):
        await eventually(lambda: server.max_running == 300)
        return said("x")

    server = fake(handler, models=AT_ONCE)
    ask(HttpEngine(server.url, max_in_flight=300), ["x"] * 300)


def test_an_engine_starts_anew_after_close(fake):
    engine = HttpEngine(fake(slow(0)).url)
    for _ in range(2):
        assert texts(ask(engine, ["a"])) == ["a"]
        spawn(engine.close()).result(timeout=PATIENCE_S)


def test_the_server_is_looked_at_once(fake):
    server = fake(slow(0))
    engine = HttpEngine(server.url)

    async def go():
        await asyncio.gather(*(collect(engine, submission_of(["x"])) for _ in range(20)))

    spawn(go()).result(timeout=PATIENCE_S)
    assert server.num_gets == 1
    assert texts(ask(engine, [])) == []


class TestConcurrencyLimit:
    def test_a_refusal_halves_the_slots_once_per_round(self):
        async def go():
            concurrency, loop = ConcurrencyLimit(8), asyncio.get_running_loop()
            entered = loop.time()
            for _ in range(8):
                await concurrency.enter()
            for _ in range(8):
                concurrency.refused(entered, 0.05)
                concurrency.leave()
            assert concurrency.limit == 4
            assert concurrency.num_refusals == 1
            await concurrency.enter()
            assert loop.time() - entered >= 0.05
            for _ in range(32):
                concurrency.answered()
            assert concurrency.limit == 8

        asyncio.run(go())

    def test_it_never_closes_for_good(self):
        async def go():
            concurrency = ConcurrencyLimit(4)
            for _ in range(20):
                concurrency.refused(asyncio.get_running_loop().time() + 1e6, 0.001)
            assert concurrency.limit == 1
            await asyncio.wait_for(concurrency.enter(), 5)

        asyncio.run(go())

    def test_a_waiter_cancelled_as_it_is_let_in_gives_its_slot_back(self):
        async def go():
            concurrency = ConcurrencyLimit(1)
            await concurrency.enter()
            waiter = asyncio.create_task(concurrency.enter())
            await asyncio.sleep(0)
            concurrency.leave()
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
            assert concurrency.num_inside == 0

        asyncio.run(go())


def test_a_server_is_told_the_span_below_which_it_works(fake):
    async def handler(body):
        return said("x")

    server = fake(handler)
    traced = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    submission = replace(submission_of(["a", "b"]), trace=traced)
    spawn(collect(HttpEngine(server.url), submission)).result(timeout=PATIENCE_S)
    ask(HttpEngine(server.url), ["c"])
    assert [each.get("traceparent") for each in server.headers] == [traced["traceparent"]] * 2 + [None]


@pytest.mark.parametrize("refusal", [
    Answered(401, {"error": {"message": "wrong key"}}),
    Answered(429, {"error": {"message": "no quota is left", "code": "insufficient_quota"}}),
])  # fmt: skip
def test_a_server_that_refuses_all_is_asked_once(fake, refusal):
    async def handler(body):
        await asyncio.sleep(0.05)
        return refusal

    server = fake(handler)
    with pytest.raises(EngineError):
        ask(HttpEngine(server.url), ["x"] * 222)
    assert len(server.requests) == 1


def test_a_parameter_that_is_refused_costs_one_request(fake):
    async def handler(body):
        if "temperature" in body:
            return Answered(400, {"error": {"message": "temperature is not supported"}})
        return said("x")

    server = fake(handler)
    engine = HttpEngine(server.url)
    ask(engine, ["x"] * 222)
    assert len(server.requests) == 223
    spawn(engine.close()).result(timeout=PATIENCE_S)
    ask(engine, ["x"])
    assert len(server.requests) == 224, "what it refuses is known still"


def test_requests_at_once_grow_from_eight_while_answers_come_in_time(fake):
    at_once = []

    async def handler(body):
        at_once.append(server.num_running)
        await asyncio.sleep(0.02)
        return said("x")

    server = fake(handler)
    ask(HttpEngine(server.url, max_in_flight=64), ["x"] * 600)
    assert max(at_once[:1]) == 1
    assert max(at_once[1:9]) <= 8
    assert server.max_running > 16


def test_a_first_answer_that_takes_long_is_not_waited_for(fake, monkeypatch):
    monkeypatch.setattr(concurrency_limit, "CANARY_S", 0.05)

    async def handler(body):
        await eventually(lambda: server.max_running == 8)
        return said("x")

    server = fake(handler)
    ask(HttpEngine(server.url), ["x"] * 8)
