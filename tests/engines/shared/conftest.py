"""Fixtures for shared engines: a folder for their sockets, and no process left behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import TIMEOUT_S

from relserve.engines.loop import spawn
from relserve.engines.registry import path_of
from relserve.engines.shared.engine import SharedEngine
from relserve.engines.shared.place import EnginePlace, is_held, places
from relserve.engines.shared.start import connect, wait_until_ended

Make = Callable[..., SharedEngine]


@pytest.fixture
def run_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of this test's own for sockets, with a short name; engines that are still up are stopped."""
    folder = Path(tempfile.mkdtemp(prefix="rs-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    monkeypatch.undo()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    for place in places():
        spawn(stop(place)).result(timeout=TIMEOUT_S)
    shutil.rmtree(folder)


@pytest.fixture
def make(run_dir: Path, tmp_path: Path, said: list[str]) -> Make:
    """make(model="scripted", ..): a client of a shared engine."""

    def made(model: str = "scripted", **other: Any) -> SharedEngine:
        given = dict(
            engine_args={}, idle_min=5.0, cache_dir=tmp_path, announce=said.append,
            log_path=tmp_path / "engine.log",
        )  # fmt: skip
        return SharedEngine(model, path_of(model), **{**given, **other})

    return made


@pytest.fixture
def said() -> list[str]:
    """What clients announced."""
    return []


async def stop(place: EnginePlace) -> None:
    """Stop the engine at a place, and wait until it has ended."""
    if is_held(place) and (line := await connect(place, {"service": "stop"})) is not None:
        line.close()
    assert await wait_until_ended(place, TIMEOUT_S)
