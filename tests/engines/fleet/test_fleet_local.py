"""A fleet of two vLLM engines on this machine answers as one, also when one of them is killed."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts

from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from tests.local_fleet import START_S, are_up
from tests.waiting import wait_until

pytestmark = [pytest.mark.engine_of_its_own, pytest.mark.vllm]

PROMPTS = [f"Was guest {i} happy with the soup?" for i in range(150)]


def test_rows_are_those_of_one_engine_also_over_a_kill(
    fleet_of_two: FleetEngine, plain_engine: LocalEngine
) -> None:
    fleet = fleet_of_two
    expected = texts(ask(plain_engine, PROMPTS))
    assert texts(ask(fleet, PROMPTS)) == expected
    members = list(fleet.roster.members.values())
    assert min(each.num_answered for each in members) > 30
    num_deaths = members[0].num_deaths
    one = spawn(plain_engine.fingerprint()).result(timeout=TIMEOUT_S)
    assert one is not None
    asked = spawn(collect(fleet, submission_of(PROMPTS * 4, max_tokens=24)))
    wait_until(lambda: members[0].num_rows)
    assert members[0].launched is not None
    killed: Any = members[0].launched.engine
    os.kill(killed.pid, signal.SIGKILL)
    replies = asked.result(timeout=TIMEOUT_S)
    assert sorted(each.index for each in replies) == list(range(4 * len(PROMPTS)))
    assert not [each for each in replies if each.failure is not None]
    wait_until(lambda: members[0].num_deaths == num_deaths + 1)
    wait_until(lambda: are_up(fleet), START_S)
    assert texts(ask(fleet, PROMPTS)) == expected
