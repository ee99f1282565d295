"""Members in Ray actors: real tiny engines, killed and stopped in every way; nothing may be left."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import relserve
from relserve.call.relquery import Reply, Sampling, Submission
from relserve.engines.fleet import ray_members
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.guard import descendants
from relserve.engines.fleet.member import Launched
from relserve.engines.fleet.ray_members import RayLauncher, RayMember
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.engines.registry import own_engine, path_of
from relserve.errors import EngineDeadError, EngineStartError, OptionError
from relserve.machine.engine_status import is_alive
from relserve.policies.dispatch.state import Report
from relserve.server.openai.upstream import EngineUpstream
from relserve.settings import Settings
from relserve.tiny import MODEL_DIR
from tests.server.openai.gateways import running
from tests.waiting import PATIENCE_S, wait_until

PACKAGE = Path(ray_members.__file__).parents[2]
START_S = 5 * PATIENCE_S
ARGS = {"dtype": "float32", "kv_cache_memory_bytes": 128 * 2**20}


def submission(name: str, num: int, max_tokens: int = 8, dispatch: int | None = None) -> Submission:
    prompts = [f"Say something about beer number {number}" for number in range(num)]
    return Submission(name, prompts, Sampling(max_tokens=max_tokens), dispatch=dispatch)


async def texts(engine: LocalEngine | RayMember, asked: Submission) -> dict[int, str | None]:
    found: dict[int, Reply] = {}
    async for replies in engine.answer(asked):
        for reply in replies:
            assert reply.index not in found
            found[reply.index] = reply
    assert not [reply.failure for reply in found.values() if reply.failure is not None]
    return {index: reply.text for index, reply in found.items()}


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_members.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineStartError) as error:
        RayLauncher("tiny", str(MODEL_DIR), {})
    assert "pip install 'relserve[fleet]'" in str(error.value)
    assert "\n" not in str(error.value)


def test_one_file_imports_ray_and_only_when_a_member_is_started() -> None:
    imports = re.compile(r"^\s*(import ray\b|from ray\b)", re.MULTILINE)
    found = [path.name for path in PACKAGE.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    assert found == ["ray_members.py"]
    code = (
        "import sys, relserve, relserve.engines.registry, relserve.engines.fleet.ray_members as members\n"
        "assert 'ray' not in sys.modules and members.RayLauncher"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)


class Fleet:
    """Two members with a channel."""

    def __init__(self, folder: Path) -> None:
        self.reports: dict[str, list[Report]] = {"a": [], "b": []}
        self.channel = StateChannel(lambda name, report: self.reports[name].append(report))
        self.launcher = RayLauncher(
            "tiny", str(MODEL_DIR), ARGS, lambda name: folder / f"{name}.log", channel=self.channel
        )
        self.up: dict[str, Launched] = {}

    async def start(self, name: str) -> RayMember:
        self.up[name] = await self.launcher.start(MemberSpec(name))
        return self.member(name)

    async def start_both(self) -> None:
        await asyncio.gather(self.start("a"), self.start("b"))

    def member(self, name: str) -> RayMember:
        engine = self.up[name].engine
        assert isinstance(engine, RayMember)
        return engine

    async def stop(self, name: str) -> None:
        await self.launcher.stop(MemberSpec(name), self.up.pop(name).engine)

    def pids(self, name: str) -> list[int]:
        """Of the actor's process and of its engine's."""
        up = self.member(name).up
        assert up is not None
        return [pid for pid, _ in up.processes]

    async def close(self) -> None:
        for name in list(self.up):
            await self.stop(name)
        assert not self.channel.is_open  # gone with the last member


@pytest.fixture(scope="class")  # its Ray ends before another test begins
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("vllm", reason="vLLM is not installed")
    made, home = Fleet(tmp_path_factory.mktemp("logs")), tmp_path_factory.mktemp("home")
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(home)
    try:
        spawn(made.start_both()).result(START_S)
        yield made
        spawn(made.close()).result(START_S)
    finally:
        os.environ["HOME"] = before or ""
    # Ray is kept for a while for members that come back; then nothing of it is left.
    guard = ray_members._connection._head
    pids = [] if guard is None or guard._guard is None else [guard._guard.pid]
    pids += [pid for each in pids for pid in descendants(each)]
    wait_until(lambda: not [pid for pid in pids if is_alive(pid, None)])
    wait_until(lambda: "RAY_AUTH_TOKEN" not in os.environ)
    assert not (home / ".ray").exists()


def died(asked: asyncio.Future[object]) -> float:
    """The seconds until a question ends with EngineDeadError."""
    began_s = time.monotonic()
    with pytest.raises(EngineDeadError):
        asked.result(PATIENCE_S)
    return time.monotonic() - began_s


@pytest.mark.vllm
@pytest.mark.long
class TestTwoMembers:
    """In this order: the later ones end members."""

    def test_they_answer_as_one_engine_does(self, fleet: Fleet, local_engine: LocalEngine) -> None:
        asked = submission("equal", 200)
        expected = spawn(texts(local_engine, asked)).result(START_S)
        for name in "ab":
            assert spawn(texts(fleet.member(name), asked)).result(PATIENCE_S) == expected
        marks = {launched.mark for launched in fleet.up.values()}
        assert marks == {spawn(local_engine.fingerprint()).result(PATIENCE_S)}
        for launched in fleet.up.values():
            assert launched.known.kv_tokens > launched.known.token_budget > 0
            assert spawn(fleet.launcher.ping(launched.engine)).result(PATIENCE_S)

    def test_each_tells_of_itself(self, fleet: Fleet) -> None:
        for reports in fleet.reports.values():
            reports.clear()
        spawn(texts(fleet.member("a"), submission("told", 300, dispatch=12))).result(PATIENCE_S)
        wait_until(lambda: fleet.reports["a"] and fleet.reports["a"][-1].yours == 0)
        assert max(report.yours for report in fleet.reports["a"]) > 100
        assert {report.seen for report in fleet.reports["a"] if report.yours} == {12}  # not of a beat before
        assert fleet.reports["a"][-1].seen == 12
        assert {report.yours for report in fleet.reports["b"]} <= {0}
        assert not fleet.channel.dropped

    def test_one_that_has_no_place_is_told_in_time(
        self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spec = MemberSpec("c", gpus=64)
        with pytest.raises(EngineStartError, match="to have 64 GPUs, and no machine of the Ray cluster"):
            spawn(fleet.launcher.start(spec)).result(PATIENCE_S)
        monkeypatch.setattr(ray_members, "why_unplaceable", lambda spec, machines: "")
        monkeypatch.setattr(ray_members, "PLACED_S", 2.0)
        with pytest.raises(EngineStartError, match="no place for it within 2 s: it takes 64 GPUs, and of"):
            spawn(fleet.launcher.start(spec)).result(PATIENCE_S)

    def test_an_error_of_the_engine_is_raised_as_it_is(self, fleet: Fleet) -> None:
        asked = Submission("thinks", ["one"], Sampling(max_tokens=4, thinking=16))
        with pytest.raises(OptionError, match="cannot be asked to think"):
            spawn(texts(fleet.member("a"), asked)).result(PATIENCE_S)

    def test_closing_midway_aborts_in_the_engine(self, fleet: Fleet) -> None:
        def under_way() -> int:
            return fleet.reports["a"][-1].num_running + fleet.reports["a"][-1].num_waiting

        async def first() -> None:
            stream = fleet.member("a").answer(submission("closed", 2000, 200))
            async for _ in stream:
                break
            await asyncio.to_thread(wait_until, lambda: under_way() > 100)
            await stream.aclose()

        spawn(first()).result(PATIENCE_S)
        wait_until(lambda: not under_way())

    @pytest.mark.parametrize("which", ["actor", "engine"])
    def test_a_killed_process_ends_the_query_at_once(self, fleet: Fleet, which: str) -> None:
        pids = fleet.pids("a")
        asked = spawn(texts(fleet.member("a"), submission(f"killed {which}", 3000, 100)))
        time.sleep(1.0)
        os.kill(pids[which == "engine"], signal.SIGKILL)
        assert died(asked) < 5  # 0.3 s (engine) and 1.3 s (actor) were measured
        assert died(spawn(texts(fleet.member("a"), submission("after", 1)))) < 5
        spawn(texts(fleet.member("b"), submission("beside", 20))).result(PATIENCE_S)
        spawn(fleet.stop("a")).result(PATIENCE_S)
        wait_until(lambda: not [pid for pid in pids if is_alive(pid, None)])
        if which == "actor":
            fleet.reports["a"].clear()
            spawn(fleet.start("a")).result(START_S)
            spawn(texts(fleet.member("a"), submission("again", 20))).result(PATIENCE_S)

    @pytest.mark.parametrize("which", ["actor", "engine"])
    def test_a_stopped_process_can_be_ended(self, fleet: Fleet, which: str) -> None:
        pids = fleet.pids("b")
        os.kill(pids[which == "engine"], signal.SIGSTOP)
        asked = spawn(texts(fleet.member("b"), submission(f"stopped {which}", 100, 50)))
        time.sleep(0.5)
        assert not asked.done()
        spawn(fleet.stop("b")).result(PATIENCE_S)
        assert died(asked) < 5
        wait_until(lambda: not [pid for pid in pids if is_alive(pid, None)])
        if which == "actor":
            spawn(fleet.start("b")).result(START_S)


@pytest.mark.vllm
@pytest.mark.long
def test_a_fleet_file_with_an_address_has_its_members_in_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("vllm", reason="vLLM is not installed")
    file = tmp_path / "pair.toml"
    file.write_text(
        'model = "tiny"\naddress = "local"\n[[members]]\nname = "m"\nreplicas = 2\n'
        'engine_args = { dtype = "float32", kv_cache_memory_bytes = 134217728 }\n'
    )
    name = f"fleet:{file}"
    said: list[str] = []
    fleet = own_engine(name, path_of(name), Settings(), said.append)
    assert isinstance(fleet, FleetEngine)
    with relserve.connect(engine=fleet, progress=False) as connection:
        rows = connection.execute(
            "SELECT count(*), count(llm_filter('Is number {} a nice beer?', i)) FROM range(400) t(i)"
        ).fetchone()
    assert rows == (400, 400)
    members = fleet.roster.members.values()
    assert {type(member.launcher) for member in members} == {RayLauncher}
    assert sum(member.num_answered for member in members) == 400
    assert any(fleet.roster.age_s(member.name) < 60 for member in members)  # they report
    wait_until(lambda: all(member.is_open for member in members), START_S)
    chats_go_to_those_that_are_here(fleet, said)
    spawn(fleet.close()).result(PATIENCE_S)
    assert not any(member.launched for member in members)
    wait_until(lambda: not ray_members._connection._is_up)


def chats_go_to_those_that_are_here(fleet: FleetEngine, said: list[str]) -> None:
    """OpenAI's clients reach members in actors of this machine."""
    away, here = fleet.roster.members.values()
    engine = away.launched.engine if away.launched else None
    assert isinstance(engine, RayMember)
    assert engine.up is not None
    up, engine.up = engine.up, engine.up._replace(host="elsewhere")
    before, of_away = here.num_answered + away.num_answered, away.num_answered
    with running(lambda: EngineUpstream(fleet, "tiny", {})) as gateway:
        client = gateway.client(timeout=3 * PATIENCE_S)
        for _ in range(4):
            answer = client.completions.create(model="tiny", prompt="hi", max_tokens=4)
            assert answer.model == fleet.model
        # So many tokens are not sent in one piece, however busy the machine.
        pieces = client.completions.create(
            model="tiny", prompt="hi", stream=True, max_tokens=400, extra_body={"ignore_eos": True}
        )
        assert len(list(pieces)) > 1
        wait_until(lambda: not fleet.roster.holders)
    # Counted a moment after the place is free; one that a busy machine had restarted is here again, too.
    wait_until(lambda: here.num_answered + away.num_answered == before + 5)
    assert away.num_answered == of_away or (away.launched and away.launched.engine is not engine)
    assert [line for line in said if "m-1 answers no OpenAI clients" in line]
    engine.up = up


OWNER = """
import asyncio, sys, time
from tests.engines.fleet.test_ray_members import Fleet, submission, texts
from relserve.engines.loop import spawn
from relserve.engines.fleet import ray_members
from pathlib import Path
fleet = Fleet(Path(sys.argv[1]))
spawn(fleet.start("a")).result()
asked = spawn(texts(fleet.member("a"), submission("x", 3000, 200)))
print(ray_members._connection._head._guard.pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.vllm
@pytest.mark.long
def test_an_owner_that_is_killed_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("vllm", reason="vLLM is not installed")
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    if len(environment["TMPDIR"]) > 40:  # Ray's sockets are below it
        environment["TMPDIR"] = "/tmp"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    )
    assert owner.stdout is not None
    guard = int(owner.stdout.readline())
    folder = Path(f"/proc/{guard}/cmdline").read_bytes().split(b"\0")[4].decode()
    pids = [guard, *descendants(guard)]
    assert len(pids) > 6
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until(lambda: not [pid for pid in pids if is_alive(pid, None)], 20)
    wait_until(lambda: not Path(folder).exists())
