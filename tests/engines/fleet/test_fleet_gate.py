"""An admission over a fleet: rows pass one gate, whose places are those of the members that are up."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import TIMEOUT_S, collect, submission_of, texts
from scripted_fleet import Machine, fleet_of

from relserve.call.relquery import Submission
from relserve.call.standing import Standing
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.local.admitted import Admitted
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineStartError, FailureKind
from relserve.gate.made import make_gate
from relserve.policies.model.linear import CostModel
from relserve.settings import load
from tests.waiting import wait_until

ADMISSIONS = ["static-12", "in_time", "saber"]
COST = CostModel(2e-5, 3e-3, 1e-4, 5e-3)


def gated(admission: str, **machines: Machine) -> FleetEngine:
    fleet = fleet_of(**machines)
    fleet.gate = make_gate(admission, model="fleet", cost=lambda: COST)
    return fleet


def submission(rows: int, limit_s: float | None = None, **more: Any) -> Submission:
    made = submission_of([f"How was dish {i}?" for i in range(rows)])
    return Submission(
        **{**vars(made), "deadline_s": None if limit_s is None else time.time() + limit_s, **more}
    )


def num_running(fleet: FleetEngine) -> int:
    return sum(each.num_rows for each in fleet.roster.members.values())


@pytest.mark.cells(1)
@pytest.mark.parametrize("admission", ADMISSIONS)
def test_answers_are_the_same_behind_a_gate(admission: str) -> None:
    rows, row_s = (60, 0.05) if admission == "saber" else (200, 0.002)  # it starts 50 a second
    asked = submission(rows)
    fleet = gated(admission, a=Machine(row_s), b=Machine(row_s))
    replies, expected = [
        sorted(spawn(collect(each, asked)).result(TIMEOUT_S), key=lambda reply: reply.index)
        for each in (fleet, ScriptedEngine())
    ]
    assert texts(replies) == texts(expected)
    assert min(each.num_answered for each in fleet.roster.members.values()) > rows / 10


def test_no_more_rows_run_than_it_lets_in_also_when_a_member_dies_and_comes_back() -> None:
    a, b = Machine(0.01, at_once=4, max_num_seqs=8), Machine(0.01, at_once=4, max_num_seqs=8)
    fleet = gated("static-64", a=a, b=b)
    told: list[Standing] = []
    seen: list[tuple[int, int]] = []

    async def ask() -> Any:
        await fleet.start()
        while len(fleet.roster.open_members) < 2:
            await asyncio.sleep(0.01)
        assert fleet.gate._queue is not None
        assert fleet.gate._queue.controller.most == 20  # 16 run, and a quarter more may wait in engines
        asking = asyncio.ensure_future(collect(fleet, submission(200, told=told.append)))
        while not asking.done():
            seen.append((num_running(fleet), fleet.gate._queue.controller.load))
            if len(seen) == 20:
                b.down = "not yet"
                b.die()
            if len(seen) > 40 and b.down:
                assert fleet.gate._queue.controller.most == 10
                b.down = ""
            await asyncio.sleep(0.01)
        return await asking

    replies = spawn(ask()).result(TIMEOUT_S)
    assert sorted(reply.index for reply in replies) == list(range(200))
    assert max(load for _, load in seen) <= 20
    assert told[0].num_waiting > 100
    assert fleet.gate._queue is not None
    wait_until(lambda: fleet.gate._queue.controller.most == 20)  # type: ignore[union-attr]


def test_rows_that_wait_at_their_deadline_fail_with_the_estimate() -> None:
    fleet = gated("static-2", a=Machine(0.05, at_once=1), b=Machine(0.05, at_once=1))
    replies = spawn(collect(fleet, submission(60, limit_s=0.5))).result(TIMEOUT_S)
    late = [reply.failure for reply in replies if reply.failure is not None]
    assert len(replies) == 60
    assert 30 < len(late) < 60
    assert {failure.kind for failure in late} == {FailureKind.DEADLINE}
    assert "its limit" in late[0].message


def test_who_leaves_gives_its_places_to_the_next() -> None:
    fleet = gated("static-4", a=Machine(5.0), b=Machine(5.0))

    async def leaves() -> None:
        stream = fleet.answer(submission(50))
        asking = asyncio.ensure_future(anext(stream))  # type: ignore[call-overload]
        while not num_running(fleet):
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])

    spawn(leaves()).result(TIMEOUT_S)
    assert fleet.gate._queue is not None
    assert fleet.gate._queue.is_idle


def test_a_fleet_that_does_not_come_up_says_so_before_the_gate() -> None:
    fleet = gated("in_time", a=Machine(down="no room"))
    with pytest.raises(EngineStartError, match="no room"):
        spawn(collect(fleet, submission(5))).result(TIMEOUT_S)


def test_a_fleet_has_the_gate_of_the_setting_and_its_members_have_none(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text("model = 'tiny'\n[[members]]\nname = 'm'\n")
    name = f"fleet:{path}"
    for admission, is_open in (("off", True), ("in_time", False)):
        settings = replace(load(), admission=admission, cache_dir=tmp_path)
        fleet: Any = own_engine(name, path_of(name), settings, lambda _: None)
        assert fleet.gate.is_open == is_open


def test_a_gate_that_breaks_ends_the_relquery_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(*_: Any) -> int:
        raise RuntimeError("the gate is broken")

    monkeypatch.setattr(Admitted, "take", breaks)
    fleet = gated("static-4", a=Machine())
    with pytest.raises(RuntimeError, match="the gate is broken"):
        spawn(collect(fleet, submission(50))).result(TIMEOUT_S)
    assert not fleet.roster.holders
