"""Files that may hold texts of users are their owner's alone, whatever the umask and their mode before."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relserve.engines import registry
from relserve.machine.engine_status import StatusFile, StatusRecord
from relserve.machine.private_files import open_private, write_private
from relserve.server.options import ServerOptions
from relserve.server.server import _log_of
from relserve.settings import load
from relserve.vllm_plugin.background_file import BackgroundFile
from relserve.vllm_plugin.child_process import _log_to
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _no_umask() -> Iterator[None]:
    former = os.umask(0)
    yield
    os.umask(former)


class Written(StatusRecord, frozen=True):
    text: str = "a user's"


def log_of_statements(path: Path) -> None:
    assert _log_of(ServerOptions(log_statements=str(path))) is not None


def status(path: Path) -> None:
    file = StatusFile("engine", path.parent)
    file.write(Written())
    file.path.rename(path)


def in_background(path: Path) -> None:
    file = BackgroundFile(path, 0.0, path.with_suffix(".tmp"), "not written", keeps=True)
    file.put(lambda: "a user's")
    wait_until(path.exists)
    file.close()


def output_of_an_engine(path: Path) -> None:
    kept = os.dup(1), os.dup(2)
    try:
        _log_to(str(path))
    finally:
        for number, descriptor in enumerate(kept, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)


WAYS: dict[str, Callable[[Path], object]] = {
    "appended": lambda path: open_private(path).close(),
    "whole": lambda path: write_private(path, "a user's"),
    "statements": log_of_statements, "status": status, "in the background": in_background,
    "an engine's output": output_of_an_engine,
}  # fmt: skip


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_others_cannot_read_it(tmp_path: Path, write: Callable[[Path], object]) -> None:
    path = tmp_path / "file.json"
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("write", [WAYS["appended"], WAYS["whole"], WAYS["statements"]])
def test_what_others_could_read_they_cannot_any_more(tmp_path: Path, write: Callable[[Path], object]) -> None:
    path = tmp_path / "file"
    path.touch(0o644)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_log_of_engines_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    path = registry._log_path("tiny", load())
    assert path is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_device_stays_as_it_is() -> None:
    before = os.stat("/dev/null").st_mode
    open_private("/dev/null").close()
    assert os.stat("/dev/null").st_mode == before
