"""What a resident process is to have in its environment from its beginning."""

from __future__ import annotations

import pytest

from relserve.engines.local import cpu
from relserve.resident import variables
from relserve.resident.variables import forks, variables_of
from relserve.tiny import MODEL_DIR


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM as built for CPUs, and nothing set by the user."""
    monkeypatch.setattr(variables, "is_cpu_build", lambda: True)
    monkeypatch.setattr(variables.sys, "platform", "linux")
    for name in (*cpu.VARIABLES, *cpu.ALLOCATOR):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("path", ["scripted", "org/name", "http://127.0.0.1:1/v1#m"])
def test_a_model_that_is_no_folder_here_is_not_looked_up(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be asked of the hub, for 25 s where there is no network, before anybody can connect."""
    monkeypatch.setattr(cpu, "size_of_model", pytest.fail)
    assert variables_of(path, {}) == {}
    assert not forks(path)


def test_what_libraries_read_when_they_are_loaded_is_there_before() -> None:
    found = variables_of(str(MODEL_DIR), {})
    assert found.keys() >= {cpu.THREADS, *cpu.ALLOCATOR}
    assert forks(str(MODEL_DIR))


def test_a_gpu_build_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "is_cpu_build", lambda: False)
    assert variables_of(str(MODEL_DIR), {}) == {}
