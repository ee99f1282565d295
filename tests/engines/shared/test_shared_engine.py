"""A shared engine as its clients see it, and what can go wrong: real processes, the scripted model."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Submission
from relserve.engines import registry
from relserve.engines.loop import spawn
from relserve.engines.registry import shared_engine
from relserve.engines.scripted import ScriptedEngine
from relserve.engines.shared import start as start_module
from relserve.engines.shared import wire
from relserve.engines.shared.engine import SharedEngine
from relserve.engines.shared.place import is_held, places
from relserve.engines.shared.start import connect, wait_until_ended
from relserve.engines.shared.wire import read_json
from relserve.errors import EngineDeadError, EngineError, EngineStartError
from relserve.settings import load
from tests.command_line import relserve
from tests.waiting import wait_until

PROMPTS = [f"How was dish {i}?" for i in range(300)]
MANY = [f"How was dish {i}?" for i in range(50_000)]


async def status_of(engine: SharedEngine) -> dict[str, Any]:
    line = await connect(engine.place, {"service": "status"})
    assert line is not None
    try:
        return await read_json(line.reader)
    finally:
        line.close()


def pid_of(engine: SharedEngine) -> int:
    return int(spawn(status_of(engine)).result(timeout=TIMEOUT_S)["pid"])


def do(engine: SharedEngine, service: str) -> None:
    """Have the engine do something that it does not answer."""

    async def say() -> None:
        line = await connect(engine.place, {"service": service})
        assert line is not None
        line.close()

    spawn(say()).result(timeout=TIMEOUT_S)


def ended(engine: SharedEngine) -> bool:
    return spawn(wait_until_ended(engine.place, TIMEOUT_S)).result()


def started(engine: SharedEngine, submission: Submission) -> tuple[Future[list[Reply]], Future[None]]:
    """A query under way, and what has its client read on once it is set.

    Until then the client reads only the first replies, and the engine's process, which waits for its reader,
    cannot end the query.
    """
    came, going_on = list[Reply](), Future[None]()

    async def take() -> list[Reply]:
        async with aclosing(engine.answer(submission)) as stream:
            async for replies in stream:
                came.extend(replies)
                await asyncio.wrap_future(going_on)
        return came

    asked = spawn(take())
    wait_until(lambda: came or asked.done())
    return asked, going_on


def test_it_answers_as_the_engine_itself_does(make):
    expected = texts(ask(ScriptedEngine(), PROMPTS))
    assert texts(ask(make(), PROMPTS)) == expected
    assert texts(ask(make(), PROMPTS[:3])) == expected[:3]


def test_two_clients_share_one_process(make):
    first, second = make(), make()
    ask(first, PROMPTS)
    ask(second, PROMPTS)
    assert pid_of(first) == pid_of(second)
    assert spawn(status_of(first)).result()["answered"] == 2 * len(PROMPTS)


@pytest.mark.engine_of_its_own
def test_ten_clients_that_start_it_at_once_share_one(run_dir, tmp_path):
    env = {**os.environ, "RELSERVE_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "relserve", "engine", "start", "--model", "scripted", "--print-socket"]
    clients = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(10)]
    sockets = {client.communicate(timeout=TIMEOUT_S)[0] for client in clients}
    assert [client.returncode for client in clients] == [0] * 10
    assert len(sockets) == 1
    (place,) = places()
    assert sockets == {f"{place.socket}\n"}
    commands = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
    assert sum(f"serve {place.task}" in command for command in commands) == 1


@pytest.mark.engine_of_its_own
def test_a_process_that_was_killed_has_a_successor_though_its_socket_is_left(make):
    engine = make()
    ask(engine, PROMPTS)
    first = pid_of(engine)
    os.kill(first, signal.SIGKILL)
    assert ended(engine)
    assert engine.place.socket.exists()
    assert len(ask(engine, PROMPTS)) == len(PROMPTS)
    assert pid_of(engine) != first


@pytest.mark.engine_of_its_own
def test_rows_that_a_killed_process_left_are_asked_of_its_successor(make, said):
    engine = make()
    asked, going_on = started(engine, submission_of(MANY))
    os.kill(pid_of(engine), signal.SIGKILL)
    going_on.set_result(None)
    replies = asked.result(timeout=TIMEOUT_S)
    assert sorted(reply.index for reply in replies) == list(range(len(MANY)))
    last = sorted(replies, key=lambda reply: reply.index)[-5:]
    assert texts(last) == texts(ask(ScriptedEngine(), MANY[-5:]))
    assert any("ended; starting it anew" in line for line in said)


@pytest.mark.engine_of_its_own
def test_stopped_in_mid_query_it_says_so_and_is_not_started_anew(make):
    engine = make()
    asked, going_on = started(engine, submission_of(MANY))
    do(engine, "stop")
    going_on.set_result(None)
    with pytest.raises(EngineDeadError, match="was stopped while it worked"):
        asked.result(timeout=TIMEOUT_S)
    assert ended(engine)
    assert not engine.place.socket.exists()


def test_a_client_that_hangs_up_ends_its_work(make):
    engine = make()
    asked, _ = started(engine, submission_of(MANY))
    asked.cancel()
    wait_until(lambda: spawn(status_of(engine)).result()["queries"] == 0)
    assert spawn(status_of(engine)).result()["answered"] < len(MANY)


@pytest.mark.engine_of_its_own
def test_closing_the_client_ends_its_queries_and_leaves_the_process(make):
    engine = make()
    asked, going_on = started(engine, submission_of(MANY))
    spawn(engine.close()).result(timeout=TIMEOUT_S)
    going_on.set_result(None)
    with pytest.raises(EngineDeadError, match="was closed while it worked"):
        asked.result(timeout=TIMEOUT_S)
    assert is_held(engine.place)
    assert len(ask(engine, PROMPTS)) == len(PROMPTS)


@pytest.mark.engine_of_its_own
def test_it_ends_when_it_has_been_idle(make):
    engine = make(idle_min=0.01)
    ask(engine, PROMPTS)
    assert ended(engine)
    assert places() == []


def test_another_release_is_refused_and_may_stop_it(make):
    engine = make()
    ask(engine, PROMPTS)
    other = make()
    other.resident = other.resident._replace(version="9.9.9")
    with pytest.raises(EngineStartError, match=r"runs relserve .*, this is 9\.9\.9; `relserve engine stop"):
        ask(other, PROMPTS)
    do(other, "stop")
    assert ended(engine)


@pytest.mark.long
def test_another_admission_is_refused_but_who_asks_for_none_takes_the_engines(make):
    ask(make(admission="static-8"), PROMPTS)
    assert len(ask(make(), PROMPTS)) == len(PROMPTS)
    with pytest.raises(EngineStartError, match=r"admission 'static-8', this process has 'in_time'; .*stop"):
        ask(make(admission="in_time"), PROMPTS)


@pytest.mark.long
def test_other_engine_arguments_are_refused(make):
    ask(make(), PROMPTS)
    with pytest.raises(EngineStartError, match=r'arguments none, this process has {"max_num_seqs": 4}'):
        ask(make(engine_args={"max_num_seqs": 4}), PROMPTS)


def test_a_full_disk_under_its_log_does_not_end_it(make):
    engine = make(log_path=Path("/dev/full"))  # the process says there where it listens
    ask(engine, PROMPTS)
    assert len(ask(engine, PROMPTS)) == len(PROMPTS)


def test_a_process_that_cannot_start_is_told_with_its_error(make, monkeypatch):
    monkeypatch.setattr(start_module, "MODULE", "relserve.no_such_module")
    with pytest.raises(EngineStartError, match="did not start"):
        ask(make(), PROMPTS)
    assert places() == []


@pytest.mark.engine_of_its_own
def test_a_query_larger_than_one_message_arrives_whole(make, monkeypatch):
    monkeypatch.setattr(wire, "PART", 100)
    assert texts(ask(make(), PROMPTS)) == texts(ask(ScriptedEngine(), PROMPTS))


@pytest.mark.engine_of_its_own
def test_grammars_of_rows_arrive_with_their_rows(make, monkeypatch):
    monkeypatch.setattr(wire, "PART", 100)
    grammars = [Grammar(ebnf=f'root ::= "{i % 7}"') if i % 3 else None for i in range(len(PROMPTS))]
    found = texts(ask(make(), PROMPTS, grammars=grammars))
    assert found == texts(ask(ScriptedEngine(), PROMPTS, grammars=grammars))
    assert found[1:3] == ["1", "2"]


@pytest.mark.engine_of_its_own
def test_an_error_of_another_kind_is_told_and_ends_nothing(make):
    engine = make()
    with pytest.raises(EngineError, match=r"failed .AttributeError.*its log tells more"):
        spawn(collect(engine, submission_of(PROMPTS, grammar=7))).result(timeout=TIMEOUT_S)
    pid = pid_of(engine)
    assert len(ask(engine, PROMPTS)) == len(PROMPTS)
    assert pid_of(engine) == pid


@pytest.mark.engine_of_its_own
def test_a_lock_that_others_removed_costs_no_second_engine_its_socket(make):
    engine = make()
    ask(engine, PROMPTS)
    first = psutil.Process(pid_of(engine))
    engine.place.lock.unlink()
    first.wait(timeout=TIMEOUT_S)  # nobody would find it
    assert len(ask(engine, PROMPTS)) == len(PROMPTS)


@pytest.mark.long
def test_cancelling_does_not_wait_for_a_process_that_does_not_read(make):
    engine = make()
    ask(engine, PROMPTS)
    process = psutil.Process(pid_of(engine))
    asked = spawn(collect(engine, submission_of(["x" * 1_000_000] * 30)))
    wait_until(lambda: engine._lines)
    process.suspend()
    try:
        asked.cancel()
        wait_until(lambda: not engine._lines)
    finally:
        process.resume()


@pytest.mark.engine_of_its_own
@pytest.mark.parametrize("option", [["--model", "scripted"], ["--all"]])
def test_the_command_stops_it(make, tmp_path, option):
    engine = make()
    ask(engine, PROMPTS)
    assert relserve_engine(tmp_path, "stop", *option) == (0, "stopped\n")
    assert not is_held(engine.place)
    assert "no shared engine is up" in relserve_engine(tmp_path, "stop", *option)[1]


def relserve_engine(cache_dir: Path, *arguments: str) -> tuple[int, str]:
    """The command's status and what it wrote to stdout."""
    done = relserve("engine", *arguments, env={"RELSERVE_CACHE_DIR": str(cache_dir)})
    return done.returncode, done.stdout.decode()


def of_a_program(monkeypatch, tmp_path):
    """Engines of a process that says nothing of who runs a model, and to which `scripted` is a local one."""
    monkeypatch.delenv("RELSERVE_ENGINE")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(registry, "is_local", lambda name: True)
    monkeypatch.setattr(registry, "path_of", lambda name: name)
    monkeypatch.setattr(registry, "own_engine", lambda *_, **__: ScriptedEngine())
    return registry.Engines()


def test_a_program_takes_the_one_that_is_up_and_says_so_once(make, capsys, monkeypatch, tmp_path):
    spawn(make().start()).result(timeout=TIMEOUT_S)
    engines = of_a_program(monkeypatch, tmp_path)
    assert isinstance(engines.find("scripted", load()), SharedEngine)
    engines.find("scripted", load())
    assert capsys.readouterr().err.count("is answered by the shared engine that is up") == 1


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("reason", ["none is up", "the setting", "engine arguments", "kv_cache"])
def test_a_program_has_its_own_where_that_is_said_or_none_takes_it(make, reason, monkeypatch, tmp_path):
    if reason != "none is up":
        spawn(make().start()).result(timeout=TIMEOUT_S)
    engines = of_a_program(monkeypatch, tmp_path)
    if reason == "the setting":
        monkeypatch.setenv("RELSERVE_ENGINE", "own")
    if reason == "engine arguments":
        monkeypatch.setenv("RELSERVE_ENGINE_ARGS", '{"max_num_seqs": 3}')
    asked = {"kv_cache": "hidden"} if reason == "kv_cache" else {}
    assert isinstance(engines.find("scripted", load(), **asked), ScriptedEngine)


def test_the_setting_chooses_it(monkeypatch, run_dir, tmp_path):
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ENGINE", "shared")
    from relserve.engines.registry import Engines

    assert isinstance(Engines().find("tiny", load()), SharedEngine)
    assert not isinstance(Engines().find("scripted", load()), SharedEngine)
    assert shared_engine("tiny", load()).place.folder == run_dir / "relserve"
