"""Members without a cluster: servers that run already, and engines as children of the fleet's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.member import AT_SOCKET, ApiPlace, Launched, known_as
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.keys import ServerKey
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.start import GPUS
from relserve.engines.protocol import Engine
from relserve.errors import EngineDeadError, EngineStartError
from relserve.machine.engine_status import is_alive
from relserve.machine.state_message import told_where
from relserve.vllm_plugin.openai_app import num_output_tokens_of

RETRIES = 1  # of a row that a server fails at: another member is a better place to try
LEAST_SLOTS = 4  # a server with fewer answers nothing else while it works

_closing: set[asyncio.Future[None]] = set()  # engines that nobody waits for any more


@dataclass(frozen=True)
class UrlLauncher:
    """Finds servers; it starts and ends none.

    Attributes:
        model: its name at each server; "": the one that a server serves.
        key_of: the key for those whose table has none, by their URL.
        max_retries: of rows that a server has no time for: it is busy, and not dead.
    """

    model: str
    key_of: Callable[[str], ServerKey]
    timeout_s: float
    max_in_flight: int
    max_retries: int

    async def start(self, spec: MemberSpec) -> Launched:
        """See `Launcher.start`; members are the same that serve a model of the same name."""
        from relserve.engines.http.engine import HttpEngine  # and aiohttp with it

        engine = HttpEngine(
            spec.url, served_model=None if "#" in spec.url else self.model or None,
            api_key=spec.api_key or partial(self.key_of, spec.url), timeout_s=self.timeout_s,
            max_retries=RETRIES, max_waits=self.max_retries, max_in_flight=self.max_in_flight,
        )  # fmt: skip
        server = await engine.start()
        mark = await engine.fingerprint()
        return Launched(engine, server.model, known_as(spec), server.concurrency.most, mark)

    async def stop(self, spec: MemberSpec, engine: Engine) -> None:
        """See `Launcher.stop`: lets its connections go."""
        await engine.close()

    async def ping(self, engine: Engine) -> bool:
        """See `Launcher.ping`."""
        from relserve.engines.http.client import StatusError
        from relserve.engines.http.server import ModelServer, list_models

        server = getattr(engine, "server", None)
        if isinstance(server, ModelServer) and server.concurrency.most >= LEAST_SLOTS:
            with suppress(StatusError):  # an answer all the same, of a server that lists no models
                await list_models(server.client)
        return True

    async def api(self, engine: Engine, arguments: Mapping[str, Any], model: str) -> ApiPlace | None:
        """See `Launcher.api`."""
        from relserve.engines.http.server import ModelServer

        server = getattr(engine, "server", None)
        assert isinstance(server, ModelServer)
        client = server.client
        return ApiPlace(client.base_url, server.model, is_vllm=server.dialect.is_vllm, headers=client.headers)


@dataclass(frozen=True)
class LocalLauncher:
    """Starts engines on this machine, each in a process of its own, children of this one.

    Attributes:
        model, path: as of `LocalEngine`.
        engine_args: for all members.
        log_path: of a member's engine, by the member's name.
        channel: to which the engines report.
        gpus: of each member, as CUDA's variable is to name them; of others as it is.
    """

    model: str
    path: str
    engine_args: Mapping[str, Any]
    log_path: Callable[[str], Path | None]
    channel: StateChannel
    gpus: Mapping[str, str] = field(default_factory=dict)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict)  # of those that share a GPU

    async def start(self, spec: MemberSpec) -> Launched:
        """See `Launcher.start`."""
        if spec.machine or spec.gpus:
            raise EngineStartError(
                f"member {spec.name} is to have {'gpus' if spec.gpus else 'a machine'}, which takes Ray "
                "(pip install 'relserve[fleet]'); without it, members run on this machine as they are"
            )
        target = await self.channel.admit(spec.name)
        try:
            async with AsyncExitStack() as turns:
                for gpu in sorted(set(filter(None, self.gpus.get(spec.name, "").split(",")))):
                    await turns.enter_async_context(self._turns.setdefault(gpu, asyncio.Lock()))
                return await self._start(spec, target.text)
        except BaseException:
            self.channel.forget(spec.name)
            raise

    async def _start(self, spec: MemberSpec, state: str) -> Launched:
        args, gpus = {**self.engine_args, **spec.engine_args}, self.gpus.get(spec.name)
        engine = LocalEngine(
            f"{self.model} ({spec.name})", self.path, engine_args=args, announce=lambda _: None,
            log_path=self.log_path(spec.name), restarts=False,
            variables={**told_where(state), **({GPUS: gpus} if gpus else {})},
        )  # fmt: skip
        try:
            await engine.start()
            mark, running = await engine.fingerprint(), engine.running
        except asyncio.CancelledError:  # the start itself goes on
            _closing.add(closing := asyncio.ensure_future(engine.close()))
            closing.add_done_callback(_closing.discard)
            raise
        known = known_as(spec, engine.find_cost())
        return Launched(engine, mark, known, None if running is None else running.max_num_seqs, mark)

    async def stop(self, spec: MemberSpec, engine: Engine) -> None:
        """See `Launcher.stop`."""
        self.channel.forget(spec.name)
        await engine.close()

    async def ping(self, engine: Engine) -> bool:
        """See `Launcher.ping`: a step may take long, so nothing is concluded but from its process's end.

        Raises:
            EngineDeadError: its process has ended.
        """
        if not isinstance(engine, LocalEngine):
            return True
        running, pid = engine.running, engine.pid
        if running is None or not running.works or pid is None or not is_alive(pid, None):
            raise EngineDeadError("its process has ended")
        return True

    async def api(self, engine: Engine, arguments: Mapping[str, Any], model: str) -> ApiPlace | None:
        """See `Launcher.api`."""
        assert isinstance(engine, LocalEngine)
        socket = await engine.openai_socket(arguments, model)
        return ApiPlace(AT_SOCKET, model, socket, num_output_tokens=partial(_num_output_tokens, engine))


def _num_output_tokens(engine: LocalEngine, ids: Sequence[str]) -> float:
    running = engine.running
    return 0.0 if running is None else num_output_tokens_of(running.client, ids)
