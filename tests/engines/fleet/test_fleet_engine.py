"""A fleet answers as one engine does, each row once, whatever its members do."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import TIMEOUT_S, ask, texts
from scripted_fleet import Machine, fleet_of

from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from relserve.machine.engine_status import state_dir
from relserve.machine.fleet_status import read_fleets

PROMPTS = [f"How was dish {i}?" for i in range(300)]


@pytest.mark.parametrize("num", [1, 2, 20, 300])
def test_two_members_answer_as_one_engine_and_share_the_work(num: int) -> None:
    a, b = Machine(0.0005), Machine(0.0005)
    replies = ask(fleet_of(a=a, b=b), PROMPTS[:num])
    assert texts(replies) == texts(ask(ScriptedEngine(), PROMPTS[:num]))
    assert a.num_answered + b.num_answered == num
    assert num < 300 or min(a.num_answered, b.num_answered) > 80


def test_a_fleet_that_is_closed_is_seen_nowhere_until_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    fleet = fleet_of(a=Machine(), b=Machine())
    for _ in range(2):
        ask(fleet, PROMPTS)
        (status,) = read_fleets(state_dir())
        assert (status.model, {each.state for each in status.members}) == ("fleet", {"up"})
        spawn(fleet.close()).result(TIMEOUT_S)
        assert list(state_dir().iterdir()) == []
