"""A fleet of servers behind its owner's process: `connect(model="fleet:..")` and `relserve fleet`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import TIMEOUT_S, ask, texts
from http_fakes import Answered, FakeServer, said

import relserve
from relserve.cli import fleet_control
from relserve.engines.registry import Engines
from relserve.engines.shared.engine import SharedEngine
from relserve.errors import EngineError
from relserve.machine.fleet_status import FleetStatus
from relserve.server.openai.upstream import EngineUpstream
from relserve.settings import load
from tests.command_line import relserve as relserve_command
from tests.server.openai.gateways import running
from tests.traces import Receiver

pytestmark = pytest.mark.engine_of_its_own

PROMPTS = [f"How was dish {i}?" for i in range(60)]


async def echo(body: dict[str, Any]) -> Answered:
    await asyncio.sleep(0.005)
    return said(body["messages"][-1]["content"])


@pytest.fixture
def file(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: Callable[..., FakeServer]
) -> Path:
    """A fleet file of two servers; whoever asks shares the fleet."""
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("RELSERVE_ENGINE", raising=False)
    path = tmp_path / "fleet.toml"
    path.write_text("".join(f"[[members]]\nname = 'm{i}'\nurl = '{fake(echo).url}'\n" for i in range(2)))
    return path


def command(*arguments: str) -> tuple[int, str, str]:
    """`relserve ..`: its status, stdout and stderr."""
    done = relserve_command(*arguments, env={"COLUMNS": "200"})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def of_its_own(*arguments: str) -> tuple[int, str]:
    """`relserve ..` in a process of its own: its status and stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "relserve", *arguments], capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_processes_share_a_fleet_and_commands_drive_it(file: Path) -> None:
    status, _, told = command("fleet", "status", str(file))
    assert (status, "is not up; `relserve fleet up" in told) == (1, True)
    status, out, told = command("fleet", "up", str(file))
    assert status == 0, told
    assert f"2 of 2 members of fleet:{file} are up" in out
    engines = Engines()
    engine = engines.find(f"fleet:{file}", load())
    assert isinstance(engine, SharedEngine)
    assert texts(ask(engine, PROMPTS)) == PROMPTS
    assert command("fleet", "drain", str(file), "m0")[1] == "m0: up, drained, 0 rows\n"
    before = members(file)
    assert [each["drained"] for each in before] == [True, False]
    assert sum(each["answered"] for each in before) == len(PROMPTS)
    assert texts(ask(engine, PROMPTS)) == PROMPTS
    assert members(file)[0]["answered"] == before[0]["answered"]
    assert command("fleet", "resume", str(file), "m0")[1] == "m0: up, 0 rows\n"
    status, _, told = command("fleet", "drain", str(file), "m7")
    assert (status, "has no member m7; there are: m0, m1" in told) == (1, True)
    shown = command("fleet", "status", str(file))[1]
    assert "m1" in shown
    assert "predicted" in shown
    top = command("top", "--once")[1]
    assert "fleet" in top
    assert "m1" in top
    assert command("fleet", "down", str(file))[1] == "stopped\n"
    assert command("fleet", "down", str(file))[1] == f"the fleet of {file} is not up\n"
    engines.close()


def test_a_fleet_that_is_up_is_driven_without_its_file(file: Path) -> None:
    assert command("fleet", "up", str(file))[0] == 0
    file.write_text("this is no TOML")
    assert [each["name"] for each in members(file)] == ["m0", "m1"]
    assert command("fleet", "drain", str(file), "m0")[1] == "m0: up, drained, 0 rows\n"
    file.unlink()
    assert command("fleet", "resume", str(file), "m0")[1] == "m0: up, 0 rows\n"
    assert command("fleet", "down", str(file))[1] == "stopped\n"
    status, _, told = command("fleet", "status", str(file))
    assert (status, "is not up; `relserve fleet up" in told) == (1, True)


def test_the_owner_sends_its_last_spans_before_it_ends(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", receiver.endpoint)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")  # nothing is sent until then but at the end
    text = "SELECT llm('{}', i::VARCHAR) FROM range(20) t(i)"
    assert of_its_own("sql", "--model", f"fleet:{file}", text)[0] == 0
    assert of_its_own("fleet", "down", str(file))[1] == "stopped\n"
    receiver.close()
    sent = [each.attributes["relserve.rows"] for each in receiver.seen if each.name == "relserve.instalment"]
    assert sum(sent) >= 20


class LaterStatus(FleetStatus, frozen=True, tag=3):
    """As another release reads it."""


def test_a_fleet_of_another_release_is_told_in_words(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("fleet", "up", str(file))[0] == 0
    monkeypatch.setattr(fleet_control, "FleetStatus", LaterStatus)  # of this process alone
    mend = f"another release .* `relserve fleet down {file}`, then `relserve fleet up {file}`"
    with pytest.raises(EngineError, match=mend):
        fleet_control.show(file, as_json=True)
    with pytest.raises(EngineError, match=mend):
        fleet_control.tell(file, "drain", ["m0"])
    assert command("fleet", "down", str(file))[1] == "stopped\n"


def members(file: Path) -> list[dict[str, Any]]:
    found = json.loads(command("fleet", "status", str(file), "--json")[1])
    return list(found["members"])


def test_sql_over_a_fleet_keeps_answers_under_the_fleets_fingerprint(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "10")
    con = relserve.connect(model=f"fleet:{file}", progress=False)
    text = "SELECT llm('{}', i::VARCHAR) AS a FROM range(20) t(i) ORDER BY i"
    first = con.execute(text).fetchall()
    assert [row[0] for row in first] == [str(i) for i in range(20)]
    assert con.execute(text).fetchall() == first
    rows = con.execute("SELECT cached_answers FROM llm_queries()").fetchall()
    assert rows[-1][0] == 20
    assert relserve.close_engines(f"fleet:{file}") == [f"fleet:{file}"]


def test_openai_clients_are_answered_by_the_owners_members(file: Path) -> None:
    engine = Engines().find(f"fleet:{file}", load())
    assert isinstance(engine, SharedEngine)
    with running(lambda: EngineUpstream(engine, "fleet", {})) as gateway:
        client = gateway.client()
        for i in range(6):
            asked: Any = {"model": "fleet", "messages": [{"role": "user", "content": str(i)}]}
            assert client.chat.completions.create(**asked).choices[0].message.content == str(i)
    assert sum(each["answered"] for each in members(file)) == 6
    assert {each["reason"] for each in members(file)} == {"predicted, OpenAI"}
    assert command("fleet", "down", str(file))[1] == "stopped\n"


def test_an_engine_of_each_process_own(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_ENGINE", "own")
    con = relserve.connect(model=f"fleet:{file}", progress=False, cache=False)
    assert con.execute("SELECT llm('{}', 'x')").fetchall() == [("x",)]
    assert command("fleet", "status", str(file))[0] == 1
    assert relserve.close_engines(f"fleet:{file}") == [f"fleet:{file}"]
