"""OpenAI clients on a fleet of servers: which of them is asked what, and what happens when one fails."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from decision_fakes import FIRST, serving, system_one
from http_fakes import Answered, FakeServer, Hangup, said

from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import State
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.server.openai.upstream import EngineUpstream
from relserve.settings import load
from tests.modules import needs
from tests.server.openai.gateways import Running, running
from tests.waiting import PATIENCE_S, wait_until

pytestmark = needs("vllm")

Fake = Callable[..., FakeServer]
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
VLLM = {"data": [{"id": "served", "owned_by": "vllm", "max_model_len": 512}]}
SPAN = f"00-{'1' * 32}-{'2' * 16}-01"
HI: Any = [{"role": "user", "content": "hi"}]


def answers(name: str, pause_s: float = 0.0) -> Any:
    async def handler(body: dict[str, Any]) -> Answered:
        await asyncio.sleep(pause_s)
        return said(name, usage=USAGE)

    return handler


def fails(status: int) -> Any:
    async def handler(body: dict[str, Any]) -> Answered:
        return Answered(status, {"error": {"message": "no", "code": status}})

    return handler


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


@contextmanager
def gateway_to(folder: Path, *servers: FakeServer) -> Iterator[tuple[Running, FleetEngine]]:
    """A gateway to a fleet of these servers, all of which are up; they are asked in turn."""
    path = folder / "fleet.toml"
    members = [
        f"[[members]]\nname = 'm{i}'\nurl = '{server.url}'\napi_key = 'k{i}'\n"
        for i, server in enumerate(servers)
    ]
    path.write_text("dispatch = 'round_robin'\n" + "".join(members))
    fleet: Any = own_engine(f"fleet:{path}", path_of(f"fleet:{path}"), load(), lambda _: None)
    with running(lambda: EngineUpstream(fleet, "fleet", {})) as gateway:
        spawn(fleet.start()).result(PATIENCE_S)
        wait_until(lambda: all(each.state is State.UP for each in fleet.roster.members.values()))
        yield gateway, fleet
    spawn(fleet.close()).result(PATIENCE_S)


def ask(gateway: Running, **more: Any) -> str:
    asked = {"model": "fleet", "messages": HI, **more}
    return str(gateway.client().chat.completions.create(**asked).choices[0].message.content)


def test_a_clients_span_is_told_to_the_member(fake: Fake, tmp_path: Path) -> None:
    with gateway_to(tmp_path, server := fake(answers("v"), models=VLLM)) as (gateway, _):
        ask(gateway, extra_headers={"traceparent": SPAN})
        ask(gateway)
        assert [headers.get("traceparent") for headers in server.headers] == [SPAN, None]


def test_each_server_is_asked_in_its_own_words(fake: Fake, tmp_path: Path) -> None:
    vllm, other = fake(answers("v"), models=VLLM), fake(answers("o"), models={"data": [{"id": "served"}]})
    with gateway_to(tmp_path, vllm, other) as (gateway, fleet):
        assert {ask(gateway, max_tokens=7, extra_body={"slo": {"ttft": 2}}) for _ in range(4)} == {"v", "o"}
        (path, body), headers = vllm.requests[0], vllm.headers[0]
        assert (path, body["model"], body["max_tokens"]) == ("/v1/chat/completions", "served", 7)
        assert body["vllm_xargs"] == {"rel_ttft_slo_s": 2, "rel_dispatch": body["vllm_xargs"]["rel_dispatch"]}
        assert (headers["authorization"], "x-relserve-enters" in headers) == ("Bearer k0", False)
        assert "vllm_xargs" not in other.requests[0][1]
        assert other.headers[0]["authorization"] == "Bearer k1"
        wait_until(lambda: not fleet.roster.holders)
        assert [each.num_answered for each in fleet.roster.members.values()] == [2, 2]
        assert {each.reason for each in fleet.roster.members.values()} == {"round_robin, OpenAI"}
        assert not fleet.roster.router.open


@pytest.mark.cells(2)
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_is_busy_is_left_for_one_that_is_not(fake: Fake, tmp_path: Path, status: int) -> None:
    with gateway_to(tmp_path, fake(fails(status)), fake(answers("o"))) as (gateway, fleet):
        assert [ask(gateway) for _ in range(3)] == ["o"] * 3
        assert not any(each.num_deaths for each in fleet.roster.members.values())


@pytest.mark.cells(2)
@pytest.mark.parametrize(("status", "deaths"), [(401, 1), (402, 0), (403, 0), (404, 0), (500, 0)])
def test_one_bad_server_fails_no_request(fake: Fake, tmp_path: Path, status: int, deaths: int) -> None:
    """Its key, its model or it itself is wrong: others answer, and it is not said to have answered."""
    with gateway_to(tmp_path, fake(fails(status)), fake(answers("o"))) as (gateway, fleet):
        assert [ask(gateway) for _ in range(5)] == ["o"] * 5
        wait_until(lambda: not fleet.roster.holders)
        bad, good = fleet.roster.members.values()
        assert (bad.num_answered, bad.num_deaths >= deaths, good.num_answered) == (0, True, 5)


@pytest.mark.cells(1)
@pytest.mark.parametrize("told", [10**25, -7, "12", [1]])
def test_a_number_of_tokens_that_is_none_costs_no_answer(fake: Fake, tmp_path: Path, told: Any) -> None:
    async def handler(body: dict[str, Any]) -> Answered:
        usage = {"prompt_tokens": told, "completion_tokens": told}
        return Answered(200, b'{"choices": [{"message": {"content": "o"}}], "usage": %s}' % _json(usage))

    card = {"id": "served", "owned_by": "vllm", "max_model_len": told}
    with gateway_to(tmp_path, fake(handler, models={"data": [card]})) as (gateway, _):
        response = gateway.client().chat.completions.with_raw_response.create(model="fleet", messages=HI)
        assert response.http_response.json()["choices"][0]["message"]["content"] == "o"
        wait_until(lambda: gateway.codes == {("anybody", 200): 1})  # it counts behind the answer


def test_where_all_are_busy_the_client_hears_it(fake: Fake, tmp_path: Path) -> None:
    with gateway_to(tmp_path, fake(fails(429)), fake(fails(429))) as (gateway, _):
        with pytest.raises(openai.RateLimitError):
            ask(gateway)


@pytest.mark.cells(2)
@pytest.mark.parametrize(("status", "seen"), [(400, 400), (401, 502), (402, 502), (404, 502)])
def test_what_is_the_clients_fault_is_told_and_what_is_the_fleets_is_not(
    fake: Fake, tmp_path: Path, status: int, seen: int
) -> None:
    with gateway_to(tmp_path, fake(fails(status))) as (gateway, _):
        with pytest.raises(openai.APIStatusError) as caught:
            ask(gateway)
        assert caught.value.status_code == seen


def test_a_server_that_vanishes_costs_nothing_before_it_answers(fake: Fake, tmp_path: Path) -> None:
    first, other = fake(answers("f", 30.0)), fake(answers("o", 0.05))
    with gateway_to(tmp_path, first, other) as (gateway, fleet):
        got: list[str] = []
        asking = [threading.Thread(target=lambda: got.append(ask(gateway))) for _ in range(6)]
        for each in asking:
            each.start()
        wait_until(lambda: first.num_running == 3)
        spawn(first.stop()).result(PATIENCE_S)
        for each in asking:
            each.join(PATIENCE_S)
        assert got == ["o"] * 6
        assert fleet.roster.members["m0"].num_deaths == 1
        assert ask(gateway) == "o"
        spawn(other.stop()).result(PATIENCE_S)
        asked = threading.Thread(target=lambda: got.append(ask(gateway)))
        asked.start()
        wait_until(lambda: bool(fleet.roster.holders))
        spawn(other.start(int(other.url.split(":")[2].removesuffix("/v1")))).result(PATIENCE_S)
        asked.join(PATIENCE_S)  # it waited for one to come back
        assert got[6:] == ["o"]


@pytest.mark.long
def test_a_server_that_says_nothing_is_left_for_another(fake: Fake, tmp_path: Path) -> None:
    frozen, other = fake(answers("f", 60.0)), fake(answers("o"))
    with gateway_to(tmp_path, frozen, other) as (gateway, fleet):
        frozen.models_pause_s = 60.0
        assert [ask(gateway) for _ in range(2)] == ["o"] * 2
        assert fleet.roster.members["m0"].silent
        wait_until(lambda: frozen.num_dropped == 1)


@pytest.mark.long
def test_a_server_that_was_left_while_it_said_nothing_is_asked_again_when_the_next_says_nothing(
    fake: Fake, tmp_path: Path
) -> None:
    def hangs_once(name: str) -> Any:
        pauses_s = iter([2 * PATIENCE_S])

        async def handler(body: dict[str, Any]) -> Answered:
            await asyncio.sleep(next(pauses_s, 0.0))
            return said(name, usage=USAGE)

        return handler

    servers = [fake(hangs_once(name)) for name in "fo"]
    with gateway_to(tmp_path, *servers) as (gateway, _), ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, gateway)
        wait_until(lambda: any(each.requests for each in servers))
        first, second = sorted(servers, key=lambda each: -len(each.requests))
        first.models_pause_s = 60.0
        wait_until(lambda: bool(second.requests))
        first.models_pause_s, second.models_pause_s = 0.0, 60.0
        assert answer.result(PATIENCE_S) == "fo"[servers.index(first)]


@pytest.mark.long
def test_a_member_that_hangs_before_there_is_a_way_to_it_is_left_for_another(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen, other = fake(answers("f")), fake(answers("o"))
    with gateway_to(tmp_path, frozen, other) as (gateway, fleet):
        member = fleet.roster.members["m0"]
        assert member.launched is not None
        launcher, engine = type(member.launcher), member.launched.engine
        find: Any = launcher.api

        async def hangs(self: Any, its: Any, *more: Any) -> Any:
            if its is engine:
                await asyncio.sleep(2 * PATIENCE_S)
            return await find(self, its, *more)

        assert {ask(gateway) for _ in range(2)} == {"f", "o"}
        monkeypatch.setattr(launcher, "api", hangs)
        member.launched = member.launched._replace()  # as if it had come back: the way is looked for anew
        frozen.models_pause_s = 60.0
        assert [ask(gateway) for _ in range(2)] == ["o"] * 2
        assert member.silent
        assert not member.num_deaths


def test_a_request_under_which_members_end_is_given_up(fake: Fake, tmp_path: Path) -> None:
    async def hangs_up(body: dict[str, Any]) -> Answered:
        raise Hangup

    servers = [fake(hangs_up) for _ in range(5)]
    with gateway_to(tmp_path, *servers) as (gateway, _):
        with pytest.raises(openai.InternalServerError) as caught:
            ask(gateway)
        assert caught.value.status_code == 503
        assert sum(len(each.requests) for each in servers) == 3


def test_a_stream_that_breaks_off_after_it_began_is_not_asked_again(fake: Fake, tmp_path: Path) -> None:
    event = json.dumps({"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": None})

    async def breaks_off(body: dict[str, Any]) -> Answered:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
        return Answered(raw=head + b"data: " + event.encode() + b"\n\n")

    first, other = fake(breaks_off), fake(breaks_off)
    with gateway_to(tmp_path, first, other) as (gateway, _):
        stream = gateway.client().chat.completions.create(model="fleet", messages=HI, stream=True)
        with pytest.raises(openai.APIError, match="ended while it worked"):
            list(stream)
        assert len(first.requests) + len(other.requests) == 1


def decide(gateway: Running, question: str) -> float:
    asked: Any = [{"type": "predicate", "name": "q", "instructions": question}]
    (answer,) = gateway.client().decisions.create(model="fleet", input="It broke.", questions=asked).answers
    assert answer.type == "predicate"
    return answer.probability


def test_decisions_are_read_from_a_members_likeliest_tokens(fake: Fake, tmp_path: Path) -> None:
    async def reads(body: dict[str, Any]) -> Answered:
        reply = said("yes", "length", USAGE)
        told = [{"token": "yes", "logprob": math.log(0.6)}, {"token": "no", "logprob": math.log(0.2)}]
        if "Broken" in str(body["messages"]):
            reply.body["choices"][0]["logprobs"] = {"content": [{**told[0], "top_logprobs": told}]}
        return reply

    with gateway_to(tmp_path, fake(reads)) as (gateway, _):
        assert decide(gateway, "Broken?") == pytest.approx(0.75)
        with pytest.raises(openai.APIStatusError, match="question 'q': the server tells no prob") as caught:
            decide(gateway, "Late?")  # of which it tells no probabilities
        assert caught.value.status_code == 501


def test_a_member_that_decides_gets_the_question_and_the_state(fake: Fake, tmp_path: Path) -> None:
    with gateway_to(tmp_path, server := fake(serving(system_one=system_one))) as (gateway, _):
        assert decide(gateway, "Broken?") == pytest.approx(FIRST)
    path, body = server.requests[-1]
    assert (path, body["state"]) == ("/v1/systemone", "It broke.")
    assert body["questions"] == {"q0": {"type": "noul", "instructions": "Broken?"}}
