"""`relserve models check`: the page on a model, what it advises, and what it says of what is no model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from http_fakes import Answered, FakeServer

from relserve import api
from relserve.checkup import run, samples
from relserve.checkup.advice import advise
from relserve.checkup.local_model import check_folder, start_hint, template_of
from relserve.checkup.page import (
    ChatTemplate,
    CheckResult,
    FunctionSample,
    LocalModel,
    Page,
    ServedModel,
    Speed,
)
from relserve.checkup.samples import CALLS
from relserve.cli.model_page import lines
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.errors import ModelError
from relserve.tiny import MODEL_DIR
from tests.command_line import relserve
from tests.forked import run_here
from tests.prepared import PreparedProcess
from tests.waiting import PATIENCE_S, wait_until

# A command in a session of its own; a shell's background jobs ignore Ctrl-C.
CHECK = """
import os, signal
os.setsid()
signal.signal(signal.SIGINT, signal.default_int_handler)
from relserve.cli.main import main
main()
"""
YES = CheckResult("logprobs", True, "")
LOCAL = LocalModel(
    "LlamaForCausalLM", "bfloat16", None, 5e6, 1e7, 4096, 8192, 4096, 2**18, 1, 1, [],
    ChatTemplate(True, True, False), 9.0,
)  # fmt: skip
SERVED = ServedModel("qwen", False, "/chat/completions", [], 0.1)
FAST = Speed(10_000.0, 500.0, 16)


def checked(name: str) -> Page:
    return run.check(name, lambda _: None)


def advised(**found: Any) -> list[str]:
    parts = dict(local=None, served=None, grammars=[YES], logprobs=YES, speed=FAST, samples=[])
    return advise(**{**parts, **found})


def test_the_scripted_engine_has_a_page_without_advice() -> None:
    page = checked("scripted")
    assert {sample.function for sample in page.samples} == set(CALLS)
    assert not [sample for sample in page.samples if sample.problem]
    without = [sample.function for sample in page.samples if not sample.answer]
    assert without == ["llm_quote"]  # it quotes nothing
    assert page.logprobs.ok
    assert (page.kind, page.local, page.served, page.advice) == ("scripted", None, None, [])


@pytest.mark.long
def test_json_is_one_object() -> None:
    done = relserve("models", "check", "scripted", "--json")
    page = json.loads(done.stdout)
    assert page["kind"] == "scripted"
    assert len(page["samples"]) == len(CALLS)
    assert b"asking each function" in done.stderr


@pytest.mark.long
def test_the_page_ends_with_what_to_set() -> None:
    text = relserve("models", "check", "scripted").stdout.decode()
    assert "nothing to set" in text
    assert text.rstrip().splitlines()[-2] == "Use it: relserve sql --model scripted .."


def test_the_page_shows_text_expected_and_given_answers_and_counts_the_right_ones() -> None:
    """The scripted engine is right in two of the nine by chance."""
    shown = " ".join(relserve("models", "check", "scripted").stdout.decode().split())
    assert samples.TEXT in shown
    assert "│ llm_date │ 2026-03-14 │ 2024-01-09 │ wrong │" in shown
    assert "│ llm_bool │ True │ True │ right │" in shown
    assert "│ llm_agg │ free text │" in shown
    assert shown.endswith("right 2 of 9: its answers are made up")


@pytest.mark.parametrize("name", ["./nowhere", "nowhere", "http://127.0.0.1:9/v1"])
def test_what_is_no_model_is_one_line(name: str) -> None:
    done = relserve("models", "check", name)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, b"", 1), done.stderr
    assert name.strip("./") in done.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of tiny, to be broken."""
    return Path(shutil.copytree(MODEL_DIR, tmp_path / "model"))


@pytest.mark.parametrize(("lost", "said"), [
    ("config.json", "config.json"), ("model.safetensors", "no weights"), ("token*", "no tokenizer"),
])  # fmt: skip
def test_a_folder_that_lacks_something_is_told_at_once(folder: Path, lost: str, said: str) -> None:
    for file in folder.glob(lost):
        file.unlink()
    with pytest.raises(ModelError, match=said):
        checked(str(folder))


@pytest.mark.parametrize(("text", "said"), [
    ("{", "cannot be read"), ("[]", "no object"), ("{}", "names no architecture"),
])  # fmt: skip
def test_a_config_that_is_none_is_told_at_once(folder: Path, text: str, said: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(ModelError, match=said):
        check_folder("mine", str(folder))


def test_a_model_that_did_not_start_leads_to_a_hint(folder: Path) -> None:
    assert "LlamaForCausalLM" in start_hint(str(folder))
    assert "HF_TOKEN" in start_hint("org/none")


def test_a_gguf_file_is_for_another_server(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.gguf")
    with pytest.raises(ModelError, match=r"llama\.cpp or ollama"):
        check_folder("mine", str(folder))


class Tokenizer:
    """With a template that writes the messages, or refuses those of the system."""

    def __init__(self, template: str | None, refuses: bool = False) -> None:
        self.chat_template, self._refuses = template, refuses

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        if self._refuses and messages[0]["role"] == "system":
            raise ValueError("System role not supported")
        return " ".join(message["content"] for message in messages)


def test_a_chat_template_is_tried() -> None:
    assert template_of(Tokenizer(None)) == ChatTemplate(False, False, False)
    assert template_of(Tokenizer("{{ messages }}")) == ChatTemplate(True, True, False)
    assert template_of(Tokenizer("{% if enable_thinking %}<think>{% endif %}", refuses=True)) == ChatTemplate(
        True, False, True
    )


def test_a_model_that_lacks_nothing_needs_nothing() -> None:
    assert advised(local=LOCAL) == []
    assert advised(served=SERVED) == []


def test_advice_of_a_local_model() -> None:
    bare = LocalModel(**{**vars(LOCAL), "template": ChatTemplate(False, False, False)})
    assert "chat_template.jinja" in advised(local=bare)[0]
    long = LocalModel(**{**vars(LOCAL), "context": 131_072})
    assert '{"max_model_len": 8192}' in advised(local=long)[0]
    own = LocalModel(**{**vars(LOCAL), "users_own": ["OMP_NUM_THREADS"]})
    assert "OMP_NUM_THREADS" in advised(local=own)[0]


def test_advice_of_a_server() -> None:
    vllm = ServedModel("qwen", True, "/completions", ["temperature"], 0.1)
    scheduler, template, temperature = advised(served=vllm)
    assert "--scheduler-cls" in scheduler
    assert "template" in template
    assert "none are kept" in temperature


def test_advice_of_what_was_tried() -> None:
    no = CheckResult("regex", False, "The sea is wide.")
    failed = FunctionSample("llm_int", "SELECT ..", None, "no number", 0.1)
    found = advised(grammars=[YES, no], logprobs=no, speed=Speed(50.0, 5.0, 16), samples=[failed])
    assert ["regex" in found[0], "min_confidence" in found[1], "GPU" in found[2], "llm_int" in found[3]]
    assert len(found) == 4


def test_wrong_answers_are_never_nothing_to_set() -> None:
    wrong = FunctionSample("llm_int", "SELECT ..", None, None, 0.1, "2", is_right=False)
    right = FunctionSample("llm_bool", "SELECT ..", "True", None, 0.1, "True", is_right=True)
    (line,) = advised(samples=[wrong, right, FunctionSample("llm", "SELECT ..", "A kettle.", None, 0.1)])
    assert line.startswith("wrong answers from llm_int: measure 50 rows of your own")


def test_a_busy_machine_is_told_and_no_reason_for_another_model() -> None:
    (line,) = advised(speed=Speed(50.0, 5.0, 16, busy_cores=1))
    assert "other programs kept a core busy" in line
    assert "GPU" not in line


@pytest.fixture
def plain_server() -> Iterator[FakeServer]:
    """A server that knows no JSON schemas and tells no probabilities; its answers are all the same."""

    async def handler(body: dict[str, Any]) -> Answered:
        if "response_format" in body:
            return Answered(400, {"error": {"message": "response_format json_schema is not supported"}})
        choice = {"message": {"content": "2"}, "finish_reason": "stop", "index": 0}
        return Answered(200, {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 1}})

    server = FakeServer(handler)
    spawn(server.start()).result(timeout=PATIENCE_S)
    yield server
    spawn(server.stop()).result(timeout=PATIENCE_S)


def test_a_server_is_told_by_what_it_refuses(plain_server: FakeServer) -> None:
    page = checked(plain_server.url)
    api.close_engines(plain_server.url)
    assert page.served is not None
    assert (page.served.name, page.served.is_vllm) == ("fake", False)
    assert page.served.refused == [f"a JSON schema for a {form}" for form in ("choice", "json", "regex")]
    assert [probe.ok for probe in page.grammars] == [False, False, False]
    assert not page.logprobs.ok
    answers = {sample.function: sample.answer or sample.problem for sample in page.samples}
    assert answers["llm_int"] == "2"
    assert answers["llm_classify"] == "the reply '2' is not one of ['positive', 'negative']"
    assert "grammars are not held (choice, regex, JSON schema)" in page.advice[0]
    shown = dict(lines(page))
    assert shown["serves"] == "fake"
    assert "choice" in shown["refused"]


@pytest.mark.long
@pytest.mark.vllm
def test_the_page_on_tiny(local_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_engine", lambda _: local_engine)
    monkeypatch.setattr(api, "find_engine", lambda *_, **__: local_engine)
    monkeypatch.setattr(run.capacity, "num_idle_cores", run.capacity.num_cores)
    page = checked("tiny")
    local = page.local
    assert local is not None
    assert (local.architecture, local.vocabulary, local.context) == ("LlamaForCausalLM", 8192, 4096)
    assert (local.number_format, local.quantization) == ("float32", None)
    assert 5e6 < (local.parameters or 0) < 5.5e6
    assert local.kv_bytes_per_token == 8192
    assert (local.kv_tokens or 0) >= 2**30 / 8192 - 64 - 43e6 / 8192  # a GiB with the weights, twice
    assert local.template == ChatTemplate(True, True, False)
    assert all(probe.ok for probe in (*page.grammars, page.logprobs)), page.grammars
    assert not [sample for sample in page.samples if sample.problem]
    assert page.speed.prefill
    assert page.speed.decode
    assert len(page.graded) == 9
    told = [line for line in page.advice if "set by you" not in line]
    assert [line.partition(":")[0].partition(" from ")[0] for line in told] == ["wrong answers"]
    assert "5.3 M" in dict(lines(page))["parameters"]


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_a_folder_without_a_template(folder: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    (folder / "chat_template.jinja").unlink()
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": None}))
    try:
        page = checked(str(folder))
    finally:
        api.close_engines(str(folder))
    assert page.local is not None
    assert not page.local.template.present
    assert any("chat_template.jinja" in line for line in page.advice)


@pytest.mark.long
@pytest.mark.vllm
def test_an_unknown_architecture_says_so(folder: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    file = folder / "config.json"
    file.write_text(
        file.read_text().replace("LlamaForCausalLM", "NeverForCausalLM").replace('"llama"', '"never"')
    )
    done = relserve("models", "check", str(folder))
    assert done.returncode == 1
    said = done.stderr.decode()
    assert "NeverForCausalLM" in said.splitlines()[-1]
    assert "Traceback" not in said


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_ctrl_c_leaves_no_engine(tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    env, err = {**os.environ, "RELSERVE_CACHE_DIR": str(tmp_path)}, tmp_path / "err"
    streams = (str(tmp_path / "out"), str(err))
    user = PreparedProcess(target=run_here, args=(CHECK, ("models", "check", "tiny"), env, *streams))
    user.start()
    assert user.pid is not None
    wait_until(lambda: err.exists() and "starting engine" in err.read_text())
    children: list[psutil.Process] = []
    wait_until(lambda: children.extend(psutil.Process(user.pid).children(recursive=True)) or children)
    time.sleep(0.5)
    children += psutil.Process(user.pid).children(recursive=True)
    os.killpg(user.pid, signal.SIGINT)
    user.join(PATIENCE_S)
    assert user.exitcode == 130
    wait_until(lambda: not any(child.is_running() and child.status() != "zombie" for child in children))
