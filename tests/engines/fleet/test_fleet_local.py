"""A fleet of two vLLM engines on this machine answers as one, also when one of them is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts

from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import State
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.settings import load
from tests.waiting import wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

PROMPTS = [f"Was guest {i} happy with the soup?" for i in range(300)]
START_S = 300.0


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetEngine]:
    """Two members, both up; in float32 as the suite's own engine."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = tmp_path_factory.mktemp("fleet")
    path: Path = folder / "fleet.toml"
    path.write_text(
        "model = 'tiny'\n[[members]]\nname = 'm'\nreplicas = 2\n"
        "engine_args = { dtype = 'float32', max_num_seqs = 64, max_model_len = 2048 }\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("RELSERVE_CACHE_DIR", str(folder))
        engine: Any = own_engine(f"fleet:{path}", path_of(f"fleet:{path}"), load(), lambda _: None)
        engine.roster.tell = lambda: None
        spawn(engine.start()).result(timeout=START_S)
        wait_until(lambda: are_up(engine), START_S)
        yield engine
        spawn(engine.close()).result(timeout=TIMEOUT_S)


def are_up(fleet: FleetEngine) -> bool:
    return all(each.state is State.UP for each in fleet.roster.members.values())


def test_rows_are_those_of_one_engine_also_over_a_kill(
    fleet: FleetEngine, shared_engine: LocalEngine
) -> None:
    expected = texts(ask(shared_engine, PROMPTS))
    assert texts(ask(fleet, PROMPTS)) == expected
    members = list(fleet.roster.members.values())
    assert min(each.num_answered for each in members) > 30
    one = spawn(shared_engine.fingerprint()).result(timeout=TIMEOUT_S)
    assert one is not None
    asked = spawn(collect(fleet, submission_of(PROMPTS * 4, max_tokens=24)))
    wait_until(lambda: members[0].num_rows)
    assert members[0].launched is not None
    killed: Any = members[0].launched.engine
    os.kill(killed.pid, signal.SIGKILL)
    replies = asked.result(timeout=TIMEOUT_S)
    assert sorted(each.index for each in replies) == list(range(4 * len(PROMPTS)))
    assert not [each for each in replies if each.failure is not None]
    assert members[0].num_deaths == 1
    wait_until(lambda: are_up(fleet), START_S)
    assert texts(ask(fleet, PROMPTS)) == expected
