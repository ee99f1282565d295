"""Fingerprints: equal where answers are, different where they may differ; what each engine tells."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import collect
from http_fakes import Answered, FakeServer, said

from relserve.call.relquery import Sampling, Submission
from relserve.engines import fingerprint
from relserve.engines.http.engine import HttpEngine
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineStartError
from tests.waiting import PATIENCE_S


def told(engine: Engine) -> str | None:
    return spawn(engine.fingerprint()).result(timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    for name in ("config.json", "tokenizer.json", "generation_config.json"):
        (made / name).write_text("{}")
    (made / "model.safetensors").write_bytes(b"weights")
    return made


def test_a_local_models_fingerprint_stays_and_is_that_of_a_copy(folder: Path, tmp_path: Path) -> None:
    first = fingerprint.of_local(str(folder), {})
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert fingerprint.of_local(str(folder), {}) == fingerprint.of_local(str(copy), {}) == first


NAMES = ("config.json", "tokenizer.json", "generation_config.json", "model.safetensors", "new.jinja")


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_file_changes_it(folder: Path, name: str) -> None:
    before = fingerprint.of_local(str(folder), {})
    (folder / name).write_bytes(b"{ }weight")
    assert fingerprint.of_local(str(folder), {}) != before


def test_of_large_files_size_and_time_of_change_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "READ_BELOW", 5)
    weights = folder / "model.safetensors"
    before = fingerprint.of_local(str(folder), {})
    weights.write_bytes(b"WEIGHTS")
    changed = fingerprint.of_local(str(folder), {})
    assert changed != before
    os.utime(weights, ns=(0, 0))
    assert fingerprint.of_local(str(folder), {}) != changed


@pytest.mark.parametrize(("args", "same"), [
    (dict(dtype="float16"), False), (dict(quantization="fp8"), False), (dict(max_model_len=100), False),
    (dict(max_num_seqs=4), True), (dict(gpu_memory_utilization=0.5), True),
    (dict(additional_config={}), True),
])  # fmt: skip
def test_engine_arguments_count_where_they_change_answers(
    folder: Path, args: dict[str, Any], same: bool
) -> None:
    assert (fingerprint.of_local(str(folder), args) == fingerprint.of_local(str(folder), {})) is same


def test_a_tokenizer_folder_among_the_arguments_is_read_too(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "tokenizer"
    other.mkdir()
    (other / "tokenizer.json").write_text("{}")
    before = fingerprint.of_local(str(folder), {"tokenizer": str(other)})
    (other / "tokenizer.json").write_text("{ }")
    assert fingerprint.of_local(str(folder), {"tokenizer": str(other)}) != before


@pytest.mark.parametrize("what", ["_vllm_version", "number_formats", "gpus"])
def test_vllm_and_the_hardwares_number_formats_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    before = fingerprint.of_local(str(folder), {})
    monkeypatch.setattr(fingerprint, what, lambda: ["another"])
    assert fingerprint.of_local(str(folder), {}) != before


def test_a_hub_model_is_its_copy_on_this_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    args = {"download_dir": str(tmp_path)}
    assert fingerprint.of_local("org/name", args) is None
    copy = tmp_path / "models--org--name"
    for commit in ("a" * 40, "b" * 40):
        (copy / "snapshots" / commit).mkdir(parents=True)
        (copy / "snapshots" / commit / "config.json").write_text(f'"{commit}"')
    (copy / "refs").mkdir()
    (copy / "refs" / "main").write_text("a" * 40)
    first = fingerprint.of_local("org/name", args)
    assert first is not None
    (copy / "refs" / "main").write_text("b" * 40)
    assert fingerprint.of_local("org/name", args) not in (None, first)


def test_a_scripted_engine_tells_what_it_was_told() -> None:
    assert told(ScriptedEngine()) is None
    assert told(ScriptedEngine(identity="x")) == "x"


def test_a_local_engine_tells_without_a_start(folder: Path) -> None:
    engine = LocalEngine("name", str(folder))
    assert told(engine) == fingerprint.of_local(str(folder), {})
    assert engine.pid is None
    (folder / "config.json").unlink()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert told(LocalEngine("name", str(folder))) is None


def test_a_named_model_of_a_server_needs_no_server() -> None:
    url = "http://127.0.0.1:9/v1"
    one, other = HttpEngine(f"{url}#one"), HttpEngine(f"{url}#other")
    assert told(one) == told(HttpEngine(url, served_model="one")) != told(other)
    assert told(one) != told(HttpEngine("http://127.0.0.1:10/v1#one"))


def test_an_unnamed_model_is_asked_for_each_time(fake: Callable[..., FakeServer]) -> None:
    async def handler(body: dict[str, Any]) -> Answered:
        raise AssertionError("nothing is to be asked")

    server = fake(handler, models={"data": [{"id": "first"}]})
    engine = HttpEngine(server.url)
    first = told(engine)
    assert first == told(engine) == told(HttpEngine(f"{server.url}#first"))
    server.models = {"data": [{"id": "second"}]}
    assert told(engine) == told(HttpEngine(f"{server.url}#second")) != first


def test_an_unnamed_model_of_no_server_is_an_error() -> None:
    with pytest.raises(EngineStartError, match="no LLM server answers"):
        told(HttpEngine("http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("name", ["", "#fake"])
def test_a_server_that_refuses_temperature_0_has_none_for_it_does_not_answer_greedily(
    fake: Callable[..., FakeServer], name: str
) -> None:
    async def handler(body: dict[str, Any]) -> Answered:
        if "temperature" in body:
            return Answered(400, {"error": {"message": "'temperature' is not supported with this model"}})
        return said("x")

    engine = HttpEngine(fake(handler).url + name)
    assert told(engine) is not None, "it is not known yet"
    spawn(collect(engine, Submission("r", ["a"], Sampling(8)))).result(timeout=PATIENCE_S)
    assert told(engine) is None
