"""OpenAI's own client on a fleet of two engines: each request goes to one, also when one is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import openai
import pytest

import relserve
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import FleetMember
from relserve.gate.made import make_gate
from relserve.server.openai.upstream import EngineUpstream
from tests.gate.entered import entered
from tests.local_fleet import START_S, are_up
from tests.server.openai.chatting import HI
from tests.server.openai.gateways import Running, running
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.engine_of_its_own,
    pytest.mark.vllm,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of vLLM's own server, in another thread
]
FOR_LONG: Any = {"max_tokens": 1500, "extra_body": {"ignore_eos": True}}


@pytest.fixture
def fleet(fleet_of_two: FleetEngine) -> FleetEngine:
    return fleet_of_two


@pytest.fixture
def gateway(fleet: FleetEngine) -> Iterator[Running]:
    with running(lambda: EngineUpstream(fleet, "fleet", {})) as one:
        yield one


def engine_of(member: FleetMember) -> Any:
    assert member.launched is not None
    return member.launched.engine


def num_in(member: FleetMember) -> int:
    """Requests that its vLLM works on."""
    return len(engine_of(member).running.client.output_processor.request_states)


def test_chats_and_streams_go_to_all_members(fleet: FleetEngine, gateway: Running) -> None:
    client = gateway.client()
    whole = client.chat.completions.create(model="fleet", messages=HI, max_tokens=8, temperature=0)
    assert whole.model == fleet.model
    chunks = list(
        client.chat.completions.create(
            model="fleet", messages=HI, max_tokens=8, temperature=0, stream=True,
            stream_options={"include_usage": True},
        )
    )  # fmt: skip
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage
    both = client.completions.create(model="fleet", prompt=["hi", "ho"], max_tokens=3, n=2)
    assert [choice.index for choice in both.choices] == [0, 1, 2, 3]
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="fleet", messages=HI, max_tokens=-1)
    asked: Any = {"model": "fleet", "prompt": "hi", "max_tokens": 40}
    asking = [threading.Thread(target=lambda: client.completions.create(**asked)) for _ in range(12)]
    for each in asking:
        each.start()
    for each in asking:
        each.join(PATIENCE_S)
    wait_until(lambda: not fleet.roster.holders)
    assert min(each.num_answered for each in fleet.roster.members.values()) > 1
    assert not fleet.roster.router.open
    assert not any(each.num_rows for each in fleet.roster.members.values())


def test_a_client_that_leaves_ends_its_work_in_the_member(fleet: FleetEngine, gateway: Running) -> None:
    answer = gateway.client().completions.create(model="fleet", prompt="hi", stream=True, **FOR_LONG)
    next(answer)
    members = list(fleet.roster.members.values())
    assert sum(map(num_in, members)) == sum(each.num_rows for each in members) == 1
    answer.close()
    wait_until(lambda: sum(map(num_in, members)) == 0, 20)
    wait_until(lambda: not fleet.roster.holders and not fleet.roster.router.open)


def test_chats_pass_the_gate_of_the_fleet_with_rows_of_sql(
    fleet: FleetEngine, gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one place that is held, who misses a limit by waiting is told so."""
    monkeypatch.setattr(fleet, "gate", make_gate("static-1"))
    monkeypatch.setattr("relserve.server.openai.gateway.GATE_S", PATIENCE_S)  # the gate may be slow to say so
    client, members = gateway.client(), list(fleet.roster.members.values())
    late: Any = {"max_tokens": 40, "extra_body": {"deadline": 0.5}}
    with entered(fleet.gate, prompt_tokens=1, max_tokens=1):
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(model="fleet", messages=HI, **late)
        assert caught.value.response.headers["retry-after"]
        with relserve.connect(engine=fleet, cache=False, progress=False) as con:
            text = "SELECT llm('Tell of {}', 'a', max_tokens := 4, deadline := 0.5)"
            with pytest.warns(relserve.RowsFailedWarning):
                assert con.sql(text).fetchall() == [(None,)]
            assert con.sql("SELECT kind FROM llm_errors()").fetchall() == [("deadline",)]
        assert sum(map(num_in, members)) == 0  # what waits is in no member
    asked: Any = {"model": "fleet", "prompt": "hi", **FOR_LONG, "max_tokens": 200}
    asking = threading.Thread(target=lambda: client.completions.create(**asked))
    asking.start()
    queue = fleet.gate._queue
    assert queue is not None
    wait_until(
        lambda: any(
            one.num_output_tokens > 20 for rows in queue._of.values() for one in rows.permits.values()
        )
    )
    asking.join(PATIENCE_S)
    wait_until(lambda: queue.is_idle)  # a moment after the client has its answer


def test_a_member_that_is_killed_costs_only_answers_that_had_begun(
    fleet: FleetEngine, gateway: Running
) -> None:
    client = gateway.client(timeout=3 * PATIENCE_S)
    answer = client.completions.create(model="fleet", prompt="hi", stream=True, **FOR_LONG)
    next(answer)
    killed = next(each for each in fleet.roster.members.values() if each.num_rows)
    before = killed.num_deaths
    os.kill(engine_of(killed).pid, signal.SIGKILL)
    with pytest.raises(openai.APIError, match="engine"):
        list(answer)
    again = client.chat.completions.create(model="fleet", messages=HI, max_tokens=2)
    assert again.usage is not None
    wait_until(lambda: killed.num_deaths == before + 1 and are_up(fleet), START_S)  # the watch saw to it
    told: list[Any] = []

    def ask() -> None:
        told.append(client.completions.create(model="fleet", prompt="hi", max_tokens=400))

    asking = threading.Thread(target=ask)  # no answer has begun while it works: it is whole
    asking.start()
    wait_until(lambda: any(each.num_rows for each in fleet.roster.members.values()))
    killed = next(each for each in fleet.roster.members.values() if each.num_rows)
    before = killed.num_deaths
    os.kill(engine_of(killed).pid, signal.SIGKILL)
    asking.join(3 * PATIENCE_S)
    assert told[0].usage is not None
    wait_until(lambda: killed.num_deaths == before + 1 and are_up(fleet), START_S)
    assert client.completions.create(model="fleet", prompt="hi", max_tokens=2).usage is not None


def test_a_member_that_hangs_is_left_for_another(fleet: FleetEngine, gateway: Running) -> None:
    client, stuck = gateway.client(), fleet.roster.members["m-1"]
    pid, num_deaths = engine_of(stuck).pid, stuck.num_deaths
    os.kill(pid, signal.SIGSTOP)
    try:
        asked: Any = {"model": "fleet", "prompt": "hi", "max_tokens": 4}
        assert all(client.completions.create(**asked).usage for _ in range(6))
        wait_until(lambda: not stuck.num_rows)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert stuck.num_deaths == num_deaths
    wait_until(lambda: num_in(stuck) == 0)


def test_sql_and_chats_share_the_members(fleet: FleetEngine, gateway: Running) -> None:
    text = "SELECT llm('Tell of {}', range, max_tokens := 40) FROM range(100000)"
    with relserve.connect(engine=fleet, cache=False, progress=False) as con, ThreadPoolExecutor(1) as pool:
        sql = pool.submit(lambda: con.execute(text).fetchall())
        try:
            wait_until(lambda: all(num_in(each) > 30 for each in fleet.roster.members.values()))
            answer = gateway.client().completions.create(model="fleet", prompt="hi", max_tokens=2)
            assert answer.usage is not None
            assert not sql.done()
        finally:
            con.interrupt()
        assert isinstance(sql.exception(PATIENCE_S), duckdb.InterruptException)
