"""A web app at a Unix socket, on the engine loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import uvicorn

KEEP_ALIVE_S = 3600  # of connections from the gateway, whose own pool closes them sooner
END_S = 1  # for requests under way at the end


class AsgiSocket:
    """Serves an ASGI app.

    Args:
        path: where it listens; in a folder that nobody else can enter.
    """

    def __init__(self, app: Any, path: Path) -> None:
        self.path, self._app = path, app
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
            self._app, log_config=None, access_log=False, ws="none", lifespan="off", interface="asgi3",
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


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's."""
        yield


async def send_error(
    send: Any, status: int, why: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with an error in OpenAI's shape."""
    body = json.dumps({"error": {"message": why, "type": "error", "param": param, "code": None}})
    await send_whole(send, status, body.encode(), headers)


async def send_whole(send: Any, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    """Answer with JSON."""
    told = {"content-type": "application/json", **(headers or {})}
    sent = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
