"""A fleet of servers: they vanish, hang, and come back with another model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts
from http_fakes import Answered, FakeServer, said

from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import State
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.errors import EngineStartError
from relserve.settings import load
from tests.waiting import Limit, wait_until

PROMPTS = [f"How was dish {i}?" for i in range(120)]
Fake = Callable[..., FakeServer]


def served(pause_s: float = 0.005) -> Any:
    async def handler(body: dict[str, Any]) -> Answered:
        await asyncio.sleep(pause_s)
        return said(body["messages"][-1]["content"])

    return handler


def fleet_over(
    folder: Path, *servers: FakeServer, told: list[str] | None = None, text: str = ""
) -> FleetEngine:
    members = [f"[[members]]\nname = 'm{i}'\nurl = '{server.url}'\n" for i, server in enumerate(servers)]
    path = folder / "fleet.toml"
    path.write_text(text + "".join(members))
    announce = (lambda _: None) if told is None else told.append
    engine: Any = own_engine(f"fleet:{path}", path_of(f"fleet:{path}"), load(), announce)
    spawn(engine.start()).result(timeout=TIMEOUT_S)
    wait_until(lambda: all(each.state is not State.STARTING for each in engine.roster.members.values()))
    return engine


def test_two_servers_share_the_rows(fake: Fake, tmp_path: Path) -> None:
    a, b = fake(served()), fake(served())
    fleet = fleet_over(tmp_path, a, b)
    assert texts(ask(fleet, PROMPTS)) == PROMPTS
    assert len(a.requests) + len(b.requests) == len(PROMPTS)
    assert min(len(a.requests), len(b.requests)) > 20
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


@pytest.mark.performance
def test_a_server_that_vanishes_and_one_that_takes_its_place(
    fake: Fake, tmp_path: Path, limit_s: Limit
) -> None:
    told: list[str] = []
    a, b = fake(served(0.05)), fake(served(0.02))
    fleet = fleet_over(tmp_path, a, b, told=told)
    before = spawn(fleet.fingerprint()).result(timeout=TIMEOUT_S)
    asked = spawn(collect(fleet, submission_of(PROMPTS)))
    wait_until(lambda: a.requests)
    spawn(a.stop()).result(timeout=TIMEOUT_S)
    vanished = time.monotonic()
    replies = asked.result(timeout=TIMEOUT_S)
    assert texts(sorted(replies, key=lambda reply: reply.index)) == PROMPTS
    assert time.monotonic() - vanished < limit_s(3.0)
    # Its rows may have been answered elsewhere before it was known to be dead.
    wait_until(lambda: any("member m0 died" in line for line in told) or not ask(fleet, PROMPTS))
    assert spawn(fleet.fingerprint()).result(timeout=TIMEOUT_S) == before
    other = FakeServer(served(), models={"data": [{"id": "another", "owned_by": "somebody"}]})
    spawn(other.start(int(a.url.split(":")[2].split("/")[0]))).result(timeout=TIMEOUT_S)
    wait_until(lambda: fleet.roster.members["m0"].state is State.REFUSED)
    spawn(other.stop()).result(timeout=TIMEOUT_S)
    assert texts(ask(fleet, PROMPTS[:4])) == PROMPTS[:4]
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


@pytest.mark.performance
def test_the_rows_of_a_server_that_hangs_are_asked_elsewhere(
    fake: Fake, tmp_path: Path, limit_s: Limit
) -> None:
    a, b = fake(served()), fake(served())
    fleet = fleet_over(tmp_path, a, b)
    assert texts(ask(fleet, PROMPTS)) == PROMPTS
    for server in (a, b):
        server.handler = served(3600.0)
    asked = spawn(collect(fleet, submission_of(["one"])))
    wait_until(lambda: a.num_running + b.num_running)
    hanging, other = (a, b) if a.num_running else (b, a)
    hanging.models_pause_s, other.handler = 3600.0, served()
    hung = time.monotonic()
    assert texts(asked.result(timeout=TIMEOUT_S)) == ["one"]
    assert time.monotonic() - hung < limit_s(2.0)
    wait_until(lambda: not hanging.num_running)
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


@pytest.mark.parametrize(
    "refusal",
    [
        Answered(402, {"error": {"message": "Insufficient credits"}}),
        Answered(403, {"error": {"message": "quota exceeded"}}),
    ],
)
def test_the_rows_of_a_server_without_credits_are_asked_elsewhere(
    fake: Fake, tmp_path: Path, refusal: Answered
) -> None:
    async def handler(body: dict[str, Any]) -> Answered:
        return refusal if bad.num_running > 1 or len(bad.requests) > 5 else said("m")

    bad, good = fake(handler), fake(served())
    fleet = fleet_over(tmp_path, bad, good)
    replies = ask(fleet, PROMPTS)
    assert all(reply.text in (prompt, "m") for reply, prompt in zip(replies, PROMPTS, strict=True))
    assert fleet.roster.members["m0"].num_deaths >= 1
    assert len(bad.requests) < len(PROMPTS)
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


def test_servers_that_are_busy_are_asked_again_and_not_dead(fake: Fake, tmp_path: Path) -> None:
    async def busy(body: dict[str, Any]) -> Answered:
        return Answered(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.3"})

    told: list[str] = []
    a, b = fake(busy), fake(busy)
    fleet = fleet_over(tmp_path, a, b, told=told)
    asked = spawn(collect(fleet, submission_of(PROMPTS[:4])))
    time.sleep(1.1)  # as long as four refusals take
    assert not asked.done()
    for server in (a, b):
        server.handler = served()
    replies = asked.result(timeout=TIMEOUT_S)
    assert texts(sorted(replies, key=lambda reply: reply.index)) == PROMPTS[:4]
    assert {each.num_deaths for each in fleet.roster.members.values()} == {0}
    assert not [line for line in told if "died" in line]
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


def test_servers_of_different_models_are_no_fleet(fake: Fake, tmp_path: Path) -> None:
    told: list[str] = []
    a = fake(served())
    b = fake(served(), models={"data": [{"id": "another", "owned_by": "somebody"}]})
    fleet = fleet_over(tmp_path, a, b, told=told)
    assert texts(ask(fleet, PROMPTS[:8])) == PROMPTS[:8]
    assert not (a.requests and b.requests)
    assert sum("is left out: its model is another one" in line for line in told) == 1
    spawn(fleet.close()).result(timeout=TIMEOUT_S)
    named = fleet_over(tmp_path, a, b, told=told, text="model = 'fake'\n")
    assert named.roster.members["m1"].state is State.REFUSED
    assert "does not serve 'fake'" in named.roster.members["m1"].why
    spawn(named.close()).result(timeout=TIMEOUT_S)


def test_no_server_there_is_told_at_once(fake: Fake, tmp_path: Path) -> None:
    a = fake(served())
    spawn(a.stop()).result(timeout=TIMEOUT_S)
    with pytest.raises(EngineStartError, match=r"no member of the fleet .* came up: m0: no LLM server"):
        fleet_over(tmp_path, a)
    spawn(a.start()).result(timeout=TIMEOUT_S)
