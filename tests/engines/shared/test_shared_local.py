"""A shared engine that runs vLLM: the same answers, phases, and what is left when parts of it are killed."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts

from relserve.call.phases import phases_of
from relserve.engines.loop import spawn
from relserve.engines.registry import path_of
from relserve.engines.shared.engine import SharedEngine
from relserve.engines.shared.place import is_held
from relserve.engines.shared.start import connect, wait_until_ended
from relserve.engines.shared.wire import read_json
from relserve.errors import EngineDeadError, EngineStartError
from relserve.machine.engine_status import is_alive
from tests.waiting import frozen, wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

PROMPTS = [f"Was guest {i} happy with the soup?" for i in range(20)]
MANY = [f"Was guest {i} happy with the soup? Say why." for i in range(100)]
LONG = dict(max_tokens=100, temperature=1.0, seed=7)


@pytest.fixture(scope="module")
def engine() -> Iterator[SharedEngine]:
    """A client of an engine of this module's own, in float32 as the suite's own engine."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = Path(tempfile.mkdtemp(prefix="rs-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        engine = client(folder, dtype="float32")
        yield engine
        if is_held(engine.place):
            spawn(say(engine, "stop")).result(timeout=TIMEOUT_S)
            assert spawn(wait_until_ended(engine.place, TIMEOUT_S)).result()
    shutil.rmtree(folder)


def client(folder: Path, **engine_args: Any) -> SharedEngine:
    return SharedEngine(
        "tiny", path_of("tiny"), engine_args=engine_args, idle_min=5, cache_dir=folder,
        announce=SAID.append, log_path=folder / "engine.log",
    )  # fmt: skip


SAID: list[str] = []


async def say(engine: SharedEngine, service: str) -> dict[str, Any]:
    """What the engine answers to a service's greeting, and then if it says more."""
    line = await connect(engine.place, {"service": service})
    assert line is not None
    try:
        return await read_json(line.reader) if service == "status" else {}
    finally:
        line.close()


def status(engine: SharedEngine) -> dict[str, Any]:
    return spawn(say(engine, "status")).result(timeout=TIMEOUT_S)


def answered_over_a_kill(engine: SharedEngine, killed: str) -> dict[str, Any]:
    """The status before a process of it is killed in mid-query; every row is answered all the same."""
    ask(engine, PROMPTS[:1])
    before = status(engine)
    with frozen(before["engine_pid"]):
        asked = spawn(collect(engine, submission_of(MANY, **LONG)))
        wait_until(lambda: status(engine)["queries"] == 1)
        os.kill(before[killed], signal.SIGKILL)
    assert sorted(reply.index for reply in asked.result(timeout=TIMEOUT_S)) == list(range(len(MANY)))
    return before


def test_answers_and_phases_are_those_of_an_engine_of_ones_own(engine, plain_engine):
    replies = ask(engine, PROMPTS)
    assert texts(replies) == texts(ask(plain_engine, PROMPTS))
    phases = phases_of([reply.times for reply in replies if reply.times is not None])
    assert phases is not None
    assert sum(phases) > 0
    assert any(line.startswith("engine for tiny ready in") for line in SAID)


def test_its_fingerprint_is_that_of_an_engine_of_ones_own(engine, plain_engine):
    ask(engine, PROMPTS[:1])
    own, shared = (spawn(each.fingerprint()).result(timeout=TIMEOUT_S) for each in (plain_engine, engine))
    assert own == shared is not None


def test_its_start_is_told_step_by_step(engine):
    ask(engine, PROMPTS[:1])
    steps = status(engine)["start_s"]
    assert 0 < steps["listening"] < steps["forked"] < steps["ready"]


def test_a_killed_engine_is_restarted_within_the_process(engine):
    before = answered_over_a_kill(engine, "engine_pid")
    after = status(engine)
    assert after["pid"] == before["pid"]
    assert after["engine_pid"] != before["engine_pid"]
    assert any("died (killed by SIGKILL" in line for line in SAID)


def test_a_killed_process_takes_its_engine_along_and_the_query_goes_on(engine):
    before = answered_over_a_kill(engine, "pid")
    assert status(engine)["pid"] != before["pid"]
    assert not is_alive(before["engine_pid"], None)


def test_a_start_that_fails_says_why_and_leaves_nothing(engine):
    bad = client(engine.place.folder / "other", max_model_len=10**9)
    with pytest.raises(EngineStartError, match=r"did not start: .*max_model_len"):
        ask(bad, PROMPTS[:1])
    assert spawn(wait_until_ended(bad.place, TIMEOUT_S)).result()


def test_arguments_that_vllms_server_refuses_are_nobodys(engine: SharedEngine) -> None:
    def models(arguments: dict[str, Any]) -> httpx.Response:
        socket = spawn(engine.openai_socket(arguments)).result(timeout=TIMEOUT_S)
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), timeout=TIMEOUT_S) as client:
            return client.get("http://engine/v1/models")

    refused = models({"enable_auto_tool_choise": True})
    assert refused.status_code == 503
    said = refused.json()["error"]["message"]
    assert "no argument 'enable_auto_tool_choise'; its arguments are \"openai\" in RELSERVE_ENGINE" in said
    assert models({}).status_code == 200
    with pytest.raises(EngineStartError, match="serves OpenAI's API with other arguments"):
        models({"enable_auto_tool_choise": True})


def test_stopping_it_leaves_no_process(engine):
    ask(engine, PROMPTS[:1])
    pids = [status(engine)[name] for name in ("pid", "engine_pid")]
    spawn(say(engine, "stop")).result(timeout=TIMEOUT_S)
    assert spawn(wait_until_ended(engine.place, TIMEOUT_S)).result()
    wait_until(lambda: not any(is_alive(pid, None) for pid in pids))


def test_stopping_it_while_it_starts_leaves_no_process(engine):
    starting = spawn(engine.start())
    wait_until(lambda: is_held(engine.place) and engine.place.socket.exists())
    spawn(say(engine, "stop")).result(timeout=TIMEOUT_S)
    with pytest.raises((EngineDeadError, EngineStartError), match="ended"):
        starting.result(timeout=TIMEOUT_S)
    assert spawn(wait_until_ended(engine.place, TIMEOUT_S)).result()
