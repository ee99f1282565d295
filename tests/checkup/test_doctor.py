"""`relserve doctor`: what each check finds, and what it says of it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from relserve.cache.store import FILE_NAME, Store
from relserve.checkup import machine
from relserve.checkup.machine import look_at_model
from relserve.settings import load
from tests.command_line import relserve


def findings(*, status: int, **variables: str) -> dict[str, dict[str, str]]:
    """What the command finds, by check."""
    run = relserve("doctor", "--json", env={"RELSERVE_ANSWER_CACHE_MB": "10", **variables})
    assert run.returncode == status, run.stderr
    return {line["check"]: line for line in map(json.loads, run.stdout.splitlines())}


def test_each_check_is_a_line_and_nothing_fails_here(tmp_path: Path) -> None:
    found = findings(status=0, RELSERVE_CACHE_DIR=str(tmp_path))
    assert [*found][:4] == ["Python", "DuckDB", "vLLM", "processors"]
    assert [*found][-3:] == ["cache folder", "kept answers", "model"]
    assert found["kept answers"]["found"] == "none yet"
    assert "RELSERVE_CACHE_DIR" in found["settings"]["found"]
    assert not list(tmp_path.iterdir())


def test_a_mistyped_variable_is_a_failure_with_the_name_that_was_meant(tmp_path: Path) -> None:
    found = findings(status=1, RELSERVE_CACHE_DIR=str(tmp_path), RELSERVE_MODLE="tiny")
    assert found["settings"]["verdict"] == "failed"
    assert "Did you mean RELSERVE_MODEL?" in found["settings"]["found"]
    assert "model" not in found


def test_for_people_the_mend_stands_below(tmp_path: Path) -> None:
    run = relserve("doctor", env={"RELSERVE_CACHE_DIR": str(tmp_path), "RELSERVE_MODEL": "no/such folder"})
    assert run.returncode == 1
    *_, line, mend = run.stdout.decode().splitlines()
    assert line.startswith("model         failed   no/such folder: no model")
    assert mend.strip().startswith("to mend it: name another with --model")


def test_a_folder_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = machine.look_at_folder(tmp_path / "file" / "folder")
    assert found.verdict == "failed"
    assert "RELSERVE_CACHE_DIR" in found.mend


def test_kept_answers_are_counted_and_damage_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "10")
    store = Store(tmp_path / FILE_NAME, 1)
    store.prepare()
    store.close()
    assert machine.look_at_answers(load()).found == "0"
    (tmp_path / FILE_NAME).write_bytes(b"not a database at all, and long enough to be read as one" * 100)
    found = machine.look_at_answers(load())
    assert (found.verdict, found.mend) == ("failed", "delete it; nothing but kept answers is lost")


@pytest.mark.parametrize(
    ("packages", "verdict", "words"),
    [
        (("no-such-vllm",), "warning", "relserve[cpu]"),
        (("pytest",), "failed", "relserve's scheduler was tested with vLLM"),
    ],
)
def test_a_missing_vllm_is_a_warning_and_a_foreign_release_a_failure(
    packages: tuple[str, ...], verdict: str, words: str
) -> None:
    found = machine.look_at_vllm(packages)
    assert found.verdict == verdict
    assert words in found.mend


def test_what_there_is_too_little_of_is_a_warning() -> None:
    assert machine.look_at_memory(1 << 30).verdict == "warning"
    assert machine.look_at_memory(8 << 30).verdict == "ok"
    assert machine.look_at_open_files(lambda wanted: wanted // 2).verdict == "warning"
    assert machine.look_at_python((3, 10)).verdict == "failed"


def test_a_gpu_that_the_installed_torch_cannot_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: ["NVIDIA H100", "NVIDIA H100"])
    monkeypatch.setattr(machine, "installed", lambda *_: ("torch", "2.13.0+cpu"))
    found = machine.look_at_gpus()
    assert (found.verdict, found.found) == (
        "warning", "2 x NVIDIA H100; torch 2.13.0+cpu cannot use them"
    )  # fmt: skip


def test_a_taken_port_is_told_with_a_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = machine.look_at_port(port)
    assert (found.verdict, found.mend) == ("warning", f"another one needs --port, as --port {port + 1}")
    assert machine.look_at_port(port).verdict == "ok"


@pytest.mark.parametrize(
    ("model", "verdict", "words"),
    [
        ("scripted", "warning", "made up"),
        ("tiny", "ok", "for trying things out"),
        ("fleet:no.toml", "failed", "no.toml"),
        ("http://127.0.0.1:9/v1", "failed", "no LLM server answers"),
    ],
)
def test_the_default_model_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, model: str, verdict: str, words: str
) -> None:
    monkeypatch.setenv("RELSERVE_MODEL", model)
    found = look_at_model(load())
    assert found[0] == verdict
    assert words in found[1]
