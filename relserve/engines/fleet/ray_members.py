"""Members as Ray actors, one engine each, on this machine or on a cluster: the only file that imports Ray.

Ray starts the actor's process, carries messages, and notices when it is gone. All else is ours: an actor that
ends is not restarted by Ray, nor is a message sent twice; the fleet's roster decides on both.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from relserve.call.relquery import Reply, Submission
from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.member import Launched, known_as
from relserve.engines.fleet.state_channel import LOOPBACK, StateChannel
from relserve.engines.local.daemon_thread import in_daemon_thread
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.log import one_line
from relserve.engines.protocol import Engine
from relserve.errors import EngineDeadError, EngineError, EngineStartError, RelserveError
from relserve.machine.engine_status import is_alive, started_at
from relserve.machine.state_message import VARIABLE
from relserve.policies.cost import CostModel
from relserve.vllm_plugin.settings import FIRST_GUESS

START_S = 60.0  # in which Ray comes up on this machine; it takes 5 s on a free one
CLOSE_S = 3.0  # in which a member ends by itself; it has nothing to save
LINGER_S = 5.0  # how long Ray is kept without members: one that died comes back
STORE_BYTES = 128 * 2**20  # of Ray's shared memory; submissions of thousands of rows pass through it
THREADS = "OMP_NUM_THREADS"  # Ray sets it to 1 in actors of no CPUs
INSTALL = "Ray is not installed: pip install 'relserve[fleet]'; members with a url, a running server's, need none"
_TOKEN = secrets.token_hex(32)  # for one that is started here: its ports can be reached from elsewhere


class Up(NamedTuple):
    """What an actor tells of its engine.

    Attributes:
        processes: the actor's and the engine's: their pids, and when they started, in the kernel's ticks.
        node: the IP address of its machine.
    """

    mark: str | None
    cost: CostModel
    token_budget: int
    kv_tokens: float
    max_num_seqs: int
    processes: tuple[tuple[int, int | None], ...]
    node: str


class EngineHost:
    """What an actor holds: an engine that ends with the query under which it dies, on the actor's own loop.

    Args:
        state: where the engine reports to, as `Target.text` has it; "": nowhere.
        threads: of an engine on a CPU, where the fleet's owner says so.
    """

    def __init__(
        self, model: str, path: str, engine_args: Mapping[str, Any], log_path: str, state: str, threads: str
    ) -> None:
        os.environ.pop(THREADS, None)
        os.environ |= {name: value for name, value in ((VARIABLE, state), (THREADS, threads)) if value}
        self._engine = LocalEngine(
            model, path, engine_args=engine_args, log_path=Path(log_path) if log_path else None, restarts=False
        )

    async def start(self) -> Up:
        """Bring the engine up; raises as `LocalEngine.start`."""
        import ray

        await self._engine.start()
        running = self._engine.running
        if running is None:
            raise EngineDeadError(f"the engine for {self._engine.model} ended as soon as it was ready")
        config = running.client.vllm_config
        blocks, size = config.cache_config.num_gpu_blocks or 0, config.cache_config.block_size
        pids = [pid for pid in (os.getpid(), running.pid) if pid is not None]
        return Up(
            running.fingerprint, self._engine.find_cost() or FIRST_GUESS,
            config.scheduler_config.max_num_batched_tokens, float(blocks * size), running.max_num_seqs,
            tuple((pid, started_at(pid)) for pid in pids), ray.util.get_node_ip_address(),
        )  # fmt: skip

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        return await self._engine.fingerprint()

    async def ping(self) -> bool:
        """Whether the engine's process is there."""
        return self._engine.running is not None

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; an engine that has died is not started for it."""
        if self._engine.running is None:
            raise EngineDeadError(f"the engine for {self._engine.model} has died")
        async with aclosing(self._engine.answer(submission)) as stream:  # type: ignore[type-var]
            async for replies in stream:
                yield replies

    async def close(self) -> None:
        """End the engine."""
        await self._engine.close()


class RayMember:
    """An `Engine` in an actor; there is one for each start of a member."""

    def __init__(self, model: str, actor: Any) -> None:
        self.model, self.actor = model, actor
        self.up: Up | None = None

    async def start(self) -> Up:
        """Bring it up; raises as `LocalEngine.start`."""
        self.up = await self._ask(self.actor.start.remote())
        return self.up

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        found: str | None = await self._ask(self.actor.fingerprint.remote())
        return found

    async def ping(self) -> bool:
        """Whether its engine is there; waits for ever for a process that is stopped."""
        return bool(await self._ask(self.actor.ping.remote()))

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; whatever ends the actor or its engine is EngineDeadError at once."""
        import ray

        method = self.actor.answer.options(num_returns="streaming")
        stream = method.remote(replace(submission, told=None))
        is_over = False
        try:
            async for reference in stream:
                yield await reference
            is_over = True
        except ray.exceptions.RayError as error:
            is_over = True
            raise self._mapped(error) from error
        finally:
            if not is_over:
                ray.cancel(stream)

    async def close(self) -> None:
        """End the engine; the actor stays until its launcher ends it."""
        await self._ask(self.actor.close.remote())

    async def _ask(self, question: Any) -> Any:
        import ray

        try:
            return await question
        except ray.exceptions.RayError as error:
            raise self._mapped(error) from error

    def _mapped(self, error: Exception) -> RelserveError:
        """An error of Ray's as one of ours: what the engine raised, or that the actor is gone."""
        cause = getattr(error, "cause", None)
        if isinstance(cause, RelserveError):
            return cause
        if cause is not None:
            return EngineError(f"the engine for {self.model} failed: {one_line(cause)}")
        return EngineDeadError(f"the process of {self.model} is gone: {one_line(error)}")


class RayLauncher:
    """A `Launcher`: an actor for each member.

    Args:
        model, path, engine_args: as of `LocalEngine`, for all members.
        log_folder: where engines write their logs, on the machines where they run; None: with Ray's.
        address: of a Ray cluster; "" for one of our own, on this machine, as long as there are members.
        channel: to which the members report; it is opened where it is not yet, for this machine alone or
            for the cluster.

    Raises:
        EngineStartError: Ray is not installed.
    """

    def __init__(
        self, model: str, path: str, engine_args: Mapping[str, Any], log_folder: Path | None = None,
        address: str = "", channel: StateChannel | None = None,
    ) -> None:  # fmt: skip
        if importlib.util.find_spec("ray") is None:
            raise EngineStartError(INSTALL)
        self._model, self._path, self._engine_args = model, path, dict(engine_args)
        self._log_folder, self._address, self._channel = log_folder, address, channel

    async def start(self, spec: MemberSpec) -> Launched:
        """See `Launcher.start`."""
        await _connection.enter(self._address)
        member: RayMember | None = None
        try:
            member = await self._actor(spec)
            up = await member.start()
        except BaseException:
            await self._end(spec, member)
            raise
        known = known_as(spec, up.cost, up.token_budget)._replace(kv_tokens=up.kv_tokens)
        return Launched(member, up.mark, known, up.max_num_seqs, up.mark)

    async def _actor(self, spec: MemberSpec) -> RayMember:
        import ray

        state = ""
        if self._channel is not None:
            if not self._channel.is_open:
                await self._channel.open(_connection.node if self._address else LOOPBACK)
            state = self._channel.expect(spec.name).text
        name = f"{self._model} ({spec.name})"
        log = "" if self._log_folder is None else str(self._log_folder / f"{spec.name}.log")
        make = ray.remote(
            num_cpus=0, num_gpus=spec.gpus, max_restarts=0, max_task_retries=0, max_concurrency=10_000,
            resources={f"node:{spec.machine}": 0.001} if spec.machine else {},
        )(EngineHost)  # fmt: skip
        engine_args = {**self._engine_args, **spec.engine_args}
        threads = "" if self._address else os.environ.get(THREADS, "")
        return RayMember(name, make.remote(name, self._path, engine_args, log, state, threads))

    async def stop(self, spec: MemberSpec, engine: Engine) -> None:
        """See `Launcher.stop`."""
        assert isinstance(engine, RayMember)
        try:
            await asyncio.wait_for(engine.close(), CLOSE_S)
        except (TimeoutError, EngineError):
            pass
        finally:
            await self._end(spec, engine)

    async def _end(self, spec: MemberSpec, member: RayMember | None) -> None:
        import ray

        if self._channel is not None:
            self._channel.forget(spec.name)
        if member is not None:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.kill(member.actor)
            if member.up is not None and member.up.node == _connection.node:
                _kill(member.up)  # one that is stopped does not hear Ray
        _connection.leave()

    async def ping(self, engine: Engine) -> bool:
        """See `Launcher.ping`."""
        assert isinstance(engine, RayMember)
        return await engine.ping()


def _kill(up: Up) -> None:
    for pid, started in up.processes:
        if started is not None and is_alive(pid, started):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


class _Connection:
    """This process's one connection to Ray, shared by all launchers; on the engine loop.

    Attributes:
        node: the IP address of this machine, as Ray has it.
    """

    def __init__(self) -> None:
        self.node = LOOPBACK
        self._num_members = 0
        self._lock = asyncio.Lock()
        self._guard: subprocess.Popen[bytes] | None = None
        self._is_up = False

    async def enter(self, address: str) -> None:
        """Be connected until `leave`.

        Raises:
            EngineStartError: Ray does not come up, or there is none at the address.
        """
        self._num_members += 1
        try:
            async with self._lock:
                if not self._is_up:
                    await in_daemon_thread(lambda: self._connect(address))
                    self._is_up = True
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """One member less."""
        self._num_members -= 1
        asyncio.get_running_loop().call_later(LINGER_S, lambda: asyncio.ensure_future(self._rest()))

    async def _rest(self) -> None:
        async with self._lock:
            if self._is_up and not self._num_members:
                self._is_up = False
                await in_daemon_thread(self.end)

    def _connect(self, address: str) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        if ray.is_initialized():  # by the user's own program, whose it stays
            self.node = ray.util.get_node_ip_address()
            return
        logging.getLogger("ray._private.worker").setLevel(logging.ERROR)  # this is not the main thread, it warns
        try:
            ray.init(
                address=address or self._start_local(), log_to_driver=False, configure_logging=False
            )
        except Exception as error:
            self.end()
            where = f"at {address}" if address else "on this machine"
            raise EngineStartError(f"there is no connection to Ray {where}: {one_line(error)}") from error
        self.node = ray.util.get_node_ip_address()

    def _start_local(self) -> str:
        """Start Ray on this machine under a guard; gives its address."""
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _TOKEN}
        folder = Path(tempfile.mkdtemp(prefix="relserve-ray-"))
        command = [
            sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--port=0", "--num-cpus=0",
            f"--temp-dir={folder}", f"--object-store-memory={STORE_BYTES}", "--include-dashboard=false",
            "--include-log-monitor=false", "--disable-usage-stats", "--block",
        ]  # fmt: skip
        guard = [sys.executable, "-m", "relserve.engines.fleet.guard", str(os.getpid()), str(folder)]
        self._guard = subprocess.Popen(
            [*guard, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        deadline_s, said = time.monotonic() + START_S, ""
        while time.monotonic() < deadline_s and self._guard.poll() is None:
            with contextlib.suppress(OSError):
                said = (folder / "start.log").read_text(errors="replace")
            with contextlib.suppress(OSError):
                if address := (folder / "ray_current_cluster").read_text().strip():
                    return address
            time.sleep(0.05)
        lines = said.strip().splitlines() or ["it said nothing"]
        raise EngineStartError(f"it did not come up in {START_S:.0f} s: {lines[-1]}")

    def end(self) -> None:
        """Leave Ray; one that was started here ends."""
        import ray

        ray.shutdown()
        guard, self._guard = self._guard, None
        if guard is not None and guard.stdin is not None:
            guard.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.wait(10)


_connection = _Connection()
