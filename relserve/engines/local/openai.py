"""vLLM's OpenAI server over a local engine, at a Unix socket: its requests and SQL's share one scheduler."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.local.asgi_socket import EngineSocket
from relserve.engines.local.entering import Entering, OpenAICaller
from relserve.engines.local.log import EngineGone, one_line
from relserve.engines.local.running import RunningEngine
from relserve.errors import EngineDeadError, EngineError
from relserve.gate.gate import Gate
from relserve.vllm_plugin.openai_app import AsgiApp, make_app, num_output_tokens_of


class EngineStarter(Protocol):
    """What runs engines of one model, one after another."""

    model: str

    @property
    def running(self) -> RunningEngine | None:
        """The engine that is up."""

    @property
    def gate(self) -> Gate:
        """What its rows enter."""

    async def start(self) -> None:
        """Start one if none is up; raises EngineError."""


class OpenAISocket(EngineSocket):
    """Serves vLLM's web app of whichever engine process runs, which is started for a request if none does.

    A request that says in a header (see `entering`) who it is enters the engine's gate first, as rows of SQL
    do. The arguments are those of `EngineSocket`.

    Args:
        model: the name by which clients ask for it; default: the engine's.
    """

    def __init__(
        self,
        engine: EngineStarter,
        path: Path,
        arguments: Mapping[str, Any],
        working: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        model: str = "",
    ) -> None:
        super().__init__(path, arguments, working)
        self._engine, self._model = engine, model or engine.model
        self._app: tuple[RunningEngine, asyncio.Future[AsgiApp]] | None = None

    @property
    def is_refused(self) -> bool:
        making = None if self._app is None else self._app[1]
        return making is not None and making.done() and not making.cancelled() and bool(making.exception())

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        running, app = await self._up()

        async def sending(message: Any) -> None:
            if message.get("status") == 500 and (running.dead or running.client.errored):
                message = {**message, "status": 503}  # vLLM was quicker to notice
            await send(message)

        entering = Entering.read(scope)
        if entering is None:
            await running.ask(app(scope, receive, sending))
            return
        caller = await OpenAICaller.read(receive)
        num_output_tokens = partial(num_output_tokens_of, running.client)
        async with entering.entered(self._engine.gate, num_output_tokens, caller) as permit:
            counted = entering.counting(sending, permit, caller)
            # It is not cancelled where the caller hangs up, but told: vLLM aborts the request then.
            await running.ask(app(scope, caller.receive, counted))

    async def _up(self) -> tuple[RunningEngine, AsgiApp]:
        """The running engine and its app; raises EngineError where it does not come up."""
        await self._engine.start()
        running = self._engine.running
        if running is None:
            raise EngineDeadError(self.gone)
        if self._app is None or self._app[0] is not running:
            making = make_app(running.client, self._model, self.arguments, in_daemon_thread)
            self._app = running, asyncio.ensure_future(running.ask(making))
        try:
            return running, await asyncio.shield(self._app[1])
        except EngineGone:
            raise
        except Exception as error:
            why = f'{one_line(error)}; its arguments are "openai" in RELSERVE_ENGINE_ARGS'
            raise EngineError(f"vLLM's OpenAI server did not start: {why}") from error
