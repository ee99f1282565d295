"""A fleet answers as one engine does, each row once, whatever its members do."""

from __future__ import annotations

import pytest
from asking import ask, texts
from scripted_fleet import Machine, fleet_of

from relserve.engines.scripted import ScriptedEngine

PROMPTS = [f"How was dish {i}?" for i in range(300)]


@pytest.mark.parametrize("num", [1, 2, 20, 300])
def test_two_members_answer_as_one_engine_and_share_the_work(num: int) -> None:
    a, b = Machine(0.0005), Machine(0.0005)
    replies = ask(fleet_of(a=a, b=b), PROMPTS[:num])
    assert texts(replies) == texts(ask(ScriptedEngine(), PROMPTS[:num]))
    assert a.num_answered + b.num_answered == num
    assert num < 300 or min(a.num_answered, b.num_answered) > 80
