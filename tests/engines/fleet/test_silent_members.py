"""What members have that say nothing is asked elsewhere at once, before rows that nobody has."""

from __future__ import annotations

from typing import Any

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts
from scripted_fleet import Machine, fleet_of

from relserve.engines.fleet.instalment import unheard
from relserve.engines.fleet.member import State
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError
from tests.waiting import wait_until

PROMPTS = [f"How was dish {i}?" for i in range(400)]


def on_loop(work: Any) -> Any:
    async def do() -> Any:
        return work()

    return spawn(do()).result(timeout=TIMEOUT_S)


def test_its_rows_do_not_wait_until_none_is_left_to_hand_out() -> None:
    a, b = Machine(0.005), Machine(0.005)
    fleet = fleet_of(a=a, b=b)
    members = fleet.roster.members
    on_loop(fleet.roster.start)
    wait_until(lambda: all(each.state is State.UP for each in members.values()))
    asked = spawn(collect(fleet, submission_of(PROMPTS)))
    wait_until(lambda: a.num_answered > 8)
    [handout] = fleet._handouts
    a.frozen = True
    had = on_loop(lambda: handout._rows_with(members["a"]))
    on_loop(lambda: fleet.roster.hear(members["a"], True))
    wait_until(lambda: on_loop(lambda: not unheard(handout._out, handout._held)))
    assert handout.num_waiting > 100
    assert had
    wait_until(lambda: {PROMPTS[row] for row in had} <= set(b.asked))
    a.frozen = False
    replies = asked.result(timeout=TIMEOUT_S)
    assert sorted(reply.index for reply in replies) == list(range(len(PROMPTS)))
    found = texts(sorted(replies, key=lambda reply: reply.index))
    assert found == texts(ask(ScriptedEngine(), PROMPTS))


def test_one_that_has_ended_comes_back_with_nobody_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = Machine(0.002), Machine(0.002)
    fleet = fleet_of(a=a, b=b)
    asked = spawn(collect(fleet, submission_of(PROMPTS)))
    wait_until(lambda: a.num_answered and b.num_answered)
    member = fleet.roster.members["a"]

    async def ping(engine: Any) -> bool:
        if engine is first.engine:
            raise EngineDeadError("its process has ended")
        return True

    first = member.launched
    assert first is not None
    monkeypatch.setattr(fleet.roster, "age_s", lambda name: 2.0 if name == "a" else 0.1)
    monkeypatch.setattr(member.launcher, "ping", ping)
    assert len(asked.result(timeout=TIMEOUT_S)) == len(PROMPTS)
    on_loop(lambda: member.silent or fleet.roster.hear(member, True))
    wait_until(lambda: member.num_deaths == 1 and member.state is State.UP)


def test_one_that_has_ended_is_found_by_its_fingerprint_and_keeps_the_others_answers() -> None:
    a, b = Machine(), Machine()
    fleet = fleet_of(a=a, b=b)
    members = fleet.roster.members
    on_loop(fleet.roster.start)
    wait_until(lambda: all(each.state is State.UP for each in members.values()))
    on_loop(b.die)
    assert spawn(fleet.fingerprint()).result(timeout=TIMEOUT_S) == "same"
    wait_until(lambda: b.num_starts == 2)
    assert (members["a"].num_deaths, members["b"].num_deaths) == (0, 1)


def test_one_that_stops_short_is_dead_and_the_others_answer_what_it_left() -> None:
    said: list[str] = []
    a, b = Machine(0.0005, stops_short=True), Machine(0.0005)
    fleet = fleet_of(said, a=a, b=b)
    on_loop(fleet.roster.start)
    wait_until(lambda: all(each.state is State.UP for each in fleet.roster.members.values()))
    assert texts(ask(fleet, PROMPTS)) == texts(ask(ScriptedEngine(), PROMPTS))
    assert any("member a died (it ended without an answer to " in line for line in said)


def test_with_nobody_who_says_anything_nothing_is_asked_twice() -> None:
    a, b = Machine(0.002), Machine(0.002)
    fleet = fleet_of(a=a, b=b)
    asked = spawn(collect(fleet, submission_of(PROMPTS[:100])))
    wait_until(lambda: a.num_answered and b.num_answered)
    for member in fleet.roster.members.values():
        on_loop(lambda member=member: fleet.roster.hear(member, True))
    assert len(asked.result(timeout=TIMEOUT_S)) == 100


def test_a_member_that_does_not_come_up_is_told_of_once_however_often_it_is_tried() -> None:
    said: list[str] = []
    fleet = fleet_of(said, a=Machine(), b=Machine(down="no room"))
    on_loop(fleet.roster.start)
    wait_until(lambda: fleet.roster.members["b"].num_failed >= 2)
    [line] = [line for line in said if "did not come up" in line]
    assert "member b did not come up: no room" in line
