"""A fleet of two real vLLM engines on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import State
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.settings import load
from tests.waiting import PATIENCE_S, wait_until

START_S = 300.0
FILE = """\
model = 'tiny'
[[members]]
name = 'm'
replicas = 2
engine_args = { dtype = 'float32', max_num_seqs = 64, max_model_len = 2048 }
"""


@contextmanager
def local_fleet(folder: Path) -> Iterator[FleetEngine]:
    """Two members, both up; in float32 as the suite's own engine."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    path = folder / "fleet.toml"
    path.write_text(FILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("RELSERVE_CACHE_DIR", str(folder))
        engine: Any = own_engine(f"fleet:{path}", path_of(f"fleet:{path}"), load(), lambda _: None)
        engine.roster.tell = lambda: None
        spawn(engine.start()).result(timeout=START_S)
        wait_until(lambda: are_up(engine), START_S)
        yield engine
        spawn(engine.close()).result(timeout=PATIENCE_S)


def are_up(fleet: FleetEngine) -> bool:
    return all(each.state is State.UP for each in fleet.roster.members.values())
