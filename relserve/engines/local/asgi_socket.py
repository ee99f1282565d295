"""OpenAI's API of an engine at a Unix socket, on the engine loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import uvicorn

from relserve.engines.local.entering import CallerLeft, send_error, send_refusal
from relserve.engines.local.log import EngineGone
from relserve.errors import AdmissionError, EngineError, OptionError

KEEP_ALIVE_S = 3600  # of connections from the gateway, whose own pool closes them sooner
END_S = 1  # for requests under way at the end


class EngineSocket(ABC):
    """Serves OpenAI's API of an engine, or of a fleet of them.

    A request that nobody answers gets 503, or where its answer has begun, a closed connection. One that the
    gate does not let in gets 429. One whose client hangs up ends.

    Args:
        path: where it listens; in a folder that nobody else can enter.
        arguments: of vLLM's web app, by name; see `relserve.vllm_plugin.openai_app`.
        working: entered while a request is under way.

    Attributes:
        is_refused: whether vLLM made no web app of its arguments, so that they are nobody's.
    """

    gone = "the engine ended while it worked on the request"

    def __init__(
        self,
        path: Path,
        arguments: Mapping[str, Any],
        working: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.path, self.arguments, self._working = path, arguments, working
        self._server: _Server | None = None
        self._serving: asyncio.Future[None] | None = None

    @property
    @abstractmethod
    def is_refused(self) -> bool: ...

    @abstractmethod
    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request; raises CallerLeft, EngineError, EngineGone, AdmissionError and OptionError."""

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
            await send(message)

        with self._working():
            try:
                await self._answer(scope, receive, sending)
            except CallerLeft:
                pass
            except (EngineError, EngineGone) as error:
                if not started:  # else uvicorn closes the connection, for the answer is not whole
                    await send_error(send, 503, str(error) or self.gone)
            except (AdmissionError, OptionError) as error:
                await send_refusal(send, error)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's."""
        yield
