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
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from relserve.call.relquery import Reply, Submission
from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.fleet.engine_host import THREADS, EngineHost, Up
from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.member import AT_SOCKET, ApiPlace, Launched, known_as
from relserve.engines.fleet.placing import GPU, why_unplaceable
from relserve.engines.fleet.ray_head import RayHead
from relserve.engines.fleet.state_channel import LOOPBACK, StateChannel
from relserve.engines.local.log import one_line
from relserve.engines.protocol import Engine
from relserve.errors import EngineDeadError, EngineError, EngineStartError, RelserveError
from relserve.machine.engine_status import is_alive

LOCAL = "local"
PLACED_S = 120.0  # in which an actor's process is there, on a busy machine too, unless others have its GPUs
CLOSE_S = 3.0  # in which a member ends by itself; it has nothing to save but spans
LINGER_S = 5.0  # how long Ray is kept without members: one that died comes back
INSTALL = "Ray is not installed: pip install 'relserve[fleet]'; members with the url of a server need none"


class RayMember:
    """An `Engine` in an actor; there is one for each start of a member."""

    def __init__(self, model: str, actor: Any) -> None:
        self.model, self.actor = model, actor
        self.up: Up | None = None
        self.api: Path | None = None  # the socket of its OpenAI server, on this machine

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

    @property
    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        return self.up is not None and self.up.host == socket.gethostname()

    async def openai_socket(self, arguments: Mapping[str, Any], model: str) -> Path:
        """See `EngineHost.openai_socket`."""
        self.api = Path(await self._ask(self.actor.openai_socket.remote(dict(arguments), model)))
        return self.api

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
        message = (str(error).splitlines() or [""])[0]
        return EngineDeadError(f"the process of {self.model} is gone: {type(error).__name__}: {message}")


class RayLauncher:
    """A `Launcher`: an actor for each member.

    Args:
        model, path, engine_args: as of `LocalEngine`, for all members.
        log_path: of a member's engine on this machine, by the member's name; elsewhere it goes with Ray's.
        address: of a Ray cluster; "local" or "" for one of our own, on this machine, as long as there are
            members.
        channel: to which the members report; it is open as long as there are any, for this machine alone or
            for the cluster.

    Raises:
        EngineStartError: Ray is not installed.
    """

    def __init__(
        self, model: str, path: str, engine_args: Mapping[str, Any],
        log_path: Callable[[str], Path | None] = lambda _: None, address: str = "",
        channel: StateChannel | None = None,
    ) -> None:  # fmt: skip
        if importlib.util.find_spec("ray") is None:
            raise EngineStartError(INSTALL)
        self._model, self._path, self._engine_args = model, path, dict(engine_args)
        self._log_path, self._address = log_path, "" if address == LOCAL else address
        self._channel = channel

    async def start(self, spec: MemberSpec) -> Launched:
        """See `Launcher.start`."""
        await _connection.enter(self._address)
        member: RayMember | None = None
        try:
            await in_daemon_thread(lambda: _see_that_it_can_be_placed(spec))
            member = await self._actor(spec)
            await _see_that_it_is_placed(spec, member)
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
            host = _connection.node if self._address else LOOPBACK
            state = (await self._channel.admit(spec.name, host)).text
        name = f"{self._model} ({spec.name})"
        log = None if self._address else self._log_path(spec.name)
        make = ray.remote(
            num_cpus=0, num_gpus=spec.gpus, max_restarts=0, max_task_retries=0, max_concurrency=10_000,
            resources={f"node:{spec.machine}": 0.001} if spec.machine else {},
        )(EngineHost)  # fmt: skip
        engine_args = {**self._engine_args, **spec.engine_args}
        threads = "" if self._address else os.environ.get(THREADS, "")
        return RayMember(name, make.remote(name, self._path, engine_args, str(log or ""), state, threads))

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
            if member.up is not None and member.is_here:
                _kill(member.up)  # one that is stopped does not hear Ray
            if member.api is not None:
                shutil.rmtree(member.api.parent, ignore_errors=True)
        _connection.leave()

    async def ping(self, engine: Engine) -> bool:
        """See `Launcher.ping`."""
        assert isinstance(engine, RayMember)
        return await engine.ping()

    async def api(self, engine: Engine, arguments: Mapping[str, Any], model: str) -> ApiPlace | None:
        """See `Launcher.api`: of members on this machine."""
        assert isinstance(engine, RayMember)
        if not engine.is_here:
            return None
        place = await engine.openai_socket(arguments, model)
        return ApiPlace(AT_SOCKET, model, place) if place.exists() else None


def _see_that_it_can_be_placed(spec: MemberSpec) -> None:
    """Raises EngineStartError where no machine of the cluster has what a member takes; blocks."""
    import ray

    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if why := why_unplaceable(spec, machines):
        raise EngineStartError(why)


async def _see_that_it_is_placed(spec: MemberSpec, member: RayMember) -> None:
    """Wait for an actor's process; EngineStartError where none comes, for others have what it takes."""
    import ray

    try:
        await asyncio.wait_for(member.ping(), PLACED_S)
    except TimeoutError:
        free, there = await in_daemon_thread(lambda: (ray.available_resources(), ray.cluster_resources()))
        raise EngineStartError(
            f"the Ray cluster had no place for it within {PLACED_S:g} s: it takes {spec.gpus:g} GPUs, and of "
            f"{there.get(GPU, 0):g} there {free.get(GPU, 0):g} are free; `ray status` shows who has them"
        ) from None


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
        self._head: RayHead | None = None  # of a cluster of our own
        self._is_up = self._is_ours = False

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
        its: Any = sys.modules.get("ray")
        is_the_users = its is not None and its.is_initialized()
        if not address and not is_the_users:
            self._head = RayHead()
            self._head.prepare()
        import ray

        if not is_the_users:
            try:
                _init(address if self._head is None else self._head.start())
            except Exception as error:
                self.end()
                where = f"at {address}" if address else "on this machine"
                raise EngineStartError(f"no connection to Ray {where}: {one_line(error)}") from error
            self._is_ours = True
        self.node = ray.util.get_node_ip_address()

    def end(self) -> None:
        """Leave Ray, unless the user's own program is connected; one that was started here ends."""
        import ray

        if self._is_ours:
            ray.shutdown()
        self._is_ours = False
        if self._head is not None:
            self._head.end()
            self._head = None


def _init(address: str) -> None:
    import ray

    core: Any = ray._raylet
    core.Config.initialize("")  # the token as it is now: the user's program may have imported Ray long ago
    core.AuthenticationTokenLoader.instance().reset_cache()
    # It warns that this is not the main thread, and prints to stdout that an actor's process has died.
    logging.getLogger("ray._private.worker").setLevel(logging.ERROR)
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    ray.init(address=address, log_to_driver=False, configure_logging=False)


_connection = _Connection()
