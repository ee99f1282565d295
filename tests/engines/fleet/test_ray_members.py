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
from tests.waiting import PATIENCE_S, Limit, wait_until

PACKAGE = Path(ray_members.__file__).parents[2]
START_S = 5 * PATIENCE_S
ARGS = {"dtype": "float32", "kv_cache_memory_bytes": 128 * 2**20}


def submission(name: str, num: int, max_tokens: int = 8, dispatch: int | None = None) -> Submission:
    prompts = [f"Say something about beer number {number}" for number in range(num)]
    return Submission(name, prompts, Sampling(max_tokens=max_tokens), dispatch=dispatch)


async def texts(engine: LocalEngine | RayMember | FleetEngine, asked: Submission) -> dict[int, str | None]:
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


class StartedMember:
    """A member with a channel."""

    def __init__(self, folder: Path) -> None:
        self.reports: list[Report] = []
        self.channel = StateChannel(lambda _, report: self.reports.append(report))
        self.launcher = RayLauncher(
            "tiny", str(MODEL_DIR), ARGS, lambda name: folder / f"{name}.log", channel=self.channel
        )
        self.up: Launched | None = None

    async def start(self) -> None:
        self.up = await self.launcher.start(MemberSpec("a"))

    @property
    def launched(self) -> Launched:
        assert self.up is not None
        return self.up

    @property
    def member(self) -> RayMember:
        engine = self.launched.engine
        assert isinstance(engine, RayMember)
        return engine

    async def stop(self) -> None:
        member, self.up = self.member, None
        await self.launcher.stop(MemberSpec("a"), member)

    @property
    def pids(self) -> tuple[int, int]:
        """Of the actor's process and of its engine's."""
        assert self.member.up is not None
        (actor, _), (engine, _) = self.member.up.processes
        return actor, engine

    async def close(self) -> None:
        if self.up is not None:
            await self.stop()
        assert not self.channel.is_open  # gone with the last member


@pytest.fixture(scope="class")  # its Ray ends before another test begins
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedMember]:
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("vllm", reason="vLLM is not installed")
    made, home = StartedMember(tmp_path_factory.mktemp("logs")), tmp_path_factory.mktemp("home")
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(home)
    try:
        spawn(made.start()).result(START_S)
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
@pytest.mark.engine_of_its_own
class TestAMember:
    """In this order: the later ones end it."""

    def test_it_answers_as_an_engine_of_ones_own_does(
        self, started: StartedMember, plain_engine: LocalEngine
    ) -> None:
        asked = submission("equal", 200)
        expected = spawn(texts(plain_engine, asked)).result(START_S)
        assert spawn(texts(started.member, asked)).result(PATIENCE_S) == expected
        launched = started.launched
        assert launched.mark == spawn(plain_engine.fingerprint()).result(PATIENCE_S)
        assert launched.known.kv_tokens > launched.known.token_budget > 0
        assert spawn(started.launcher.ping(launched.engine)).result(PATIENCE_S)

    def test_it_tells_of_itself(self, started: StartedMember) -> None:
        started.reports.clear()
        spawn(texts(started.member, submission("told", 300, dispatch=12))).result(PATIENCE_S)
        wait_until(lambda: started.reports and started.reports[-1].yours == 0)
        assert max(report.yours for report in started.reports) > 100
        assert {report.seen for report in started.reports if report.yours} == {12}  # not of a beat before
        assert started.reports[-1].seen == 12
        assert not started.channel.dropped

    def test_one_that_has_no_place_is_told_in_time(
        self, started: StartedMember, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spec = MemberSpec("b", gpus=64)
        with pytest.raises(EngineStartError, match="to have 64 GPUs, and no machine of the Ray cluster"):
            spawn(started.launcher.start(spec)).result(PATIENCE_S)
        monkeypatch.setattr(ray_members, "why_unplaceable", lambda spec, machines: "")
        monkeypatch.setattr(ray_members, "PLACED_S", 2.0)
        with pytest.raises(EngineStartError, match="no place for it within 2 s: it takes 64 GPUs, and of"):
            spawn(started.launcher.start(spec)).result(PATIENCE_S)

    def test_an_error_of_the_engine_is_raised_as_it_is(self, started: StartedMember) -> None:
        asked = Submission("thinks", ["one"], Sampling(max_tokens=4, thinking=16))
        with pytest.raises(OptionError, match="cannot be asked to think"):
            spawn(texts(started.member, asked)).result(PATIENCE_S)

    def test_closing_midway_aborts_in_the_engine(self, started: StartedMember) -> None:
        def under_way() -> int:
            return started.reports[-1].num_running + started.reports[-1].num_waiting

        async def first() -> None:
            stream = started.member.answer(submission("closed", 2000, 200))
            async for _ in stream:
                break
            await asyncio.to_thread(wait_until, lambda: under_way() > 100)
            await stream.aclose()

        spawn(first()).result(PATIENCE_S)
        wait_until(lambda: not under_way())

    @pytest.mark.performance
    def test_a_killed_engine_ends_the_query_at_once_and_a_stopped_actor_can_be_ended(
        self, started: StartedMember, limit_s: Limit
    ) -> None:
        actor, engine = started.pids
        asked = spawn(texts(started.member, submission("killed engine", 3000, 100)))
        wait_until(lambda: started.reports[-1].num_running)
        os.kill(engine, signal.SIGKILL)
        assert died(asked) < limit_s(5)  # 0.3 s were measured
        assert died(spawn(texts(started.member, submission("after", 1)))) < limit_s(5)
        os.kill(actor, signal.SIGSTOP)
        asked = spawn(texts(started.member, submission("stopped actor", 100)))
        time.sleep(0.5)
        assert not asked.done()
        spawn(started.stop()).result(PATIENCE_S)
        assert died(asked) < limit_s(5)
        wait_until(lambda: not is_alive(actor, None) and not is_alive(engine, None))


def asked_fleet(file: Path) -> FleetEngine:
    """A fleet whose file has an address: its members, in Ray, answered SQL and chats, and are up."""
    file.write_text(
        'model = "tiny"\naddress = "local"\n[[members]]\nname = "m"\nreplicas = 2\n'
        'engine_args = { dtype = "float32", kv_cache_memory_bytes = 134217728 }\n'
    )
    name = f"fleet:{file}"
    said: list[str] = []
    fleet = own_engine(name, path_of(name), Settings(), said.append)
    assert isinstance(fleet, FleetEngine)
    with relserve.connect(engine=fleet, progress=False) as connection:
        connection.execute("SET enable_progress_bar = false")  # on stdout, where a statement takes long
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
    return fleet


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


def a_killed_actor_ends_its_queries_at_once(fleet: FleetEngine, within_s: float) -> None:
    """The fleet's rows go to the other member, and the engine, though it is stopped, ends for another."""
    (first, *_) = fleet.roster.members.values()
    engine = first.launched.engine if first.launched else None
    assert isinstance(engine, RayMember)
    assert engine.up is not None
    (actor, _), (core, _) = engine.up.processes
    asked = spawn(texts(engine, submission("killed actor", 3000, 100)))
    of_both = spawn(texts(fleet, submission("of both", 400, 20)))
    wait_until(lambda: first.num_rows)
    os.kill(core, signal.SIGSTOP)
    os.kill(actor, signal.SIGKILL)
    assert died(asked) < within_s  # 1.3 s were measured
    assert died(spawn(texts(engine, submission("after", 1)))) < within_s
    assert len(of_both.result(START_S)) == 400
    wait_until(lambda: not is_alive(core, None))


OWNER = """
import sys, time
from pathlib import Path
from relserve.engines.fleet import ray_members
from relserve.engines.loop import spawn
from tests.engines.fleet.test_ray_members import (
    a_killed_actor_ends_its_queries_at_once, asked_fleet, submission, texts
)
fleet = asked_fleet(Path(sys.argv[1]))
a_killed_actor_ends_its_queries_at_once(fleet, float(sys.argv[2]))
asked = spawn(texts(fleet, submission("x", 3000, 200)))
print(ray_members._connection._head._guard.pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.vllm
@pytest.mark.engine_of_its_own
@pytest.mark.performance
def test_an_owner_that_is_killed_leaves_no_process_and_no_file(tmp_path: Path, limit_s: Limit) -> None:
    """After its fleet, whose file has an address, has answered SQL and chats, and lost a member."""
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("vllm", reason="vLLM is not installed")
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    if len(environment["TMPDIR"]) > 40:  # Ray's sockets are below it
        environment["TMPDIR"] = "/tmp"
    command = [sys.executable, "-c", OWNER, str(tmp_path / "pair.toml"), str(limit_s(5))]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert owner.stdout is not None
    try:
        guard = int(owner.stdout.readline())
        folder = Path(f"/proc/{guard}/cmdline").read_bytes().split(b"\0")[4].decode()
        pids = [guard, *descendants(guard)]
        assert len(pids) > 8
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    wait_until(lambda: not [pid for pid in pids if is_alive(pid, None)], limit_s(20))
    wait_until(lambda: not Path(folder).exists())
