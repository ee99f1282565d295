"""vLLM's OpenAI server over a local engine, at a Unix socket: its requests and SQL's share one scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from math import ceil
from pathlib import Path
from typing import Any, Protocol

import uvicorn

from relserve.engines.local.daemon_thread import in_daemon_thread
from relserve.engines.local.entering import Caller, Entering, Left
from relserve.engines.local.log import EngineGone, one_line
from relserve.engines.local.running import RunningEngine
from relserve.errors import AdmissionError, EngineDeadError, EngineError, OptionError
from relserve.gate.gate import Gate
from relserve.vllm_plugin.openai_app import AsgiApp, make_app

KEEP_ALIVE_S = 3600  # of connections from the gateway, whose own pool closes them sooner
END_S = 1  # for requests under way at the end
GONE = "the engine ended while it worked on the request"


class Startable(Protocol):
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


class OpenAISocket:
    """Serves vLLM's web app of whichever engine process runs, which is started for a request if none does.

    A request that says in a header (see `entering`) who it is enters the engine's gate first, as rows of SQL
    do, and gets 429 where it is not let in. One whose engine ends under it gets 503, or where its answer has
    begun, a closed connection. One whose client hangs up ends. All of it is on the engine loop.

    Args:
        path: where it listens; in a folder that nobody else can enter.
        arguments: of vLLM's web app, by name; see `relserve.vllm_plugin.openai_app`.
        working: entered while a request is under way.
    """

    def __init__(
        self,
        engine: Startable,
        path: Path,
        arguments: Mapping[str, Any],
        working: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.path, self.arguments = path, arguments
        self._engine, self._working = engine, working
        self._app: tuple[RunningEngine, asyncio.Future[AsgiApp]] | None = None
        self._server: _Server | None = None
        self._serving: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Listen, if it does not yet."""
        if self._server is not None:
            return
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path.unlink(missing_ok=True)  # left behind
        listener.bind(str(self.path))
        config = uvicorn.Config(
            self._serve, log_config=None, access_log=False, ws="none", lifespan="off", interface="asgi3",
            server_header=False, timeout_keep_alive=KEEP_ALIVE_S, timeout_graceful_shutdown=END_S,
        )  # fmt: skip
        listener.listen(config.backlog)  # before uvicorn does: whoever is told of the socket may come at once
        self._server = _Server(config)
        self._serving = asyncio.ensure_future(self._server.serve([listener]))

    async def close(self) -> None:
        """Give up what is under way."""
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        await self._serving
        self._server = None
        self.path.unlink(missing_ok=True)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        started = False

        async def sending(message: Any) -> None:
            nonlocal started
            started = True
            if message.get("status") == 500 and (running.dead or running.client.errored):
                message = {**message, "status": 503}  # vLLM was quicker to notice
            await send(message)

        with self._working():
            try:
                running, app = await self._up()
                entering = Entering.read(scope)
                if entering is None:
                    await running.ask(app(scope, receive, sending))
                    return
                caller = await Caller.read(receive)
                async with entering.entered(self._engine.gate, running.client, caller) as ticket:
                    counted = entering.counting(sending, ticket, caller)
                    # It is not cancelled where the caller hangs up, but told: vLLM aborts the request then.
                    await running.ask(app(scope, caller.receive, counted))
            except Left:
                pass
            except (EngineError, EngineGone) as error:
                if not started:  # else uvicorn closes the connection, for the answer is not whole
                    await _send_error(send, 503, str(error) or GONE)
            except AdmissionError as error:
                retry_s = 1.0 if error.estimate_s is None else error.estimate_s
                await _send_error(send, 429, str(error), headers={"retry-after": str(max(ceil(retry_s), 1))})
            except OptionError as error:
                await _send_error(send, 400, str(error), "slo")

    async def _up(self) -> tuple[RunningEngine, AsgiApp]:
        """The running engine and its app; raises EngineError where it does not come up."""
        await self._engine.start()
        running = self._engine.running
        if running is None:
            raise EngineDeadError(GONE)
        if self._app is None or self._app[0] is not running:
            making = make_app(running.client, self._engine.model, self.arguments, in_daemon_thread)
            self._app = running, asyncio.ensure_future(running.ask(making))
        try:
            return running, await asyncio.shield(self._app[1])
        except EngineGone:
            raise
        except Exception as error:
            raise EngineError(f"vLLM's OpenAI server did not start: {one_line(error)}") from error


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's."""
        yield


async def _send_error(
    send: Any, status: int, why: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> None:
    body = json.dumps({"error": {"message": why, "type": "error", "param": param, "code": None}})
    told = {"content-type": "application/json", **(headers or {})}
    sent = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body.encode()})
