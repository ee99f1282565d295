"""An HTTP server that misbehaves as a test wants it to."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


class Hangup(Exception):
    """Raised by a handler to close the connection without a reply."""


@dataclass
class Answered:
    """A handler's reply."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None  # in place of the whole response
    content_type: str = "application/json"


Handler = Callable[[dict[str, Any]], Awaitable[Answered]]


@dataclass
class FakeServer:
    """An HTTP server on this machine whose POST replies come from `handler(body)`.

    Attributes:
        models_pause_s: how long it takes to answer its list of models.
        requests: path and body of every POST.
        num_dropped: requests whose client went away before the reply.
        max_running: most requests that were there at once.
    """

    handler: Handler
    models: Any = field(default_factory=lambda: {"data": [{"id": "fake", "owned_by": "somebody"}]})
    models_status: int = 200
    models_type: str = "application/json"
    models_pause_s: float = 0.0
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    num_gets: int = 0
    num_running: int = 0
    max_running: int = 0
    num_dropped: int = 0
    url: str = ""
    _server: asyncio.Server | None = None
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        """Stop listening and cut all connections."""
        assert self._server is not None
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, Hangup):
            pass  # cancelled by stop(): asyncio's streams would log it if it went on
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        method, path, _ = first.split(" ")
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "GET":
            self.num_gets += 1
            began_s = time.monotonic()
            while time.monotonic() - began_s < self.models_pause_s:  # a test may end the pause
                await asyncio.sleep(min(0.05, self.models_pause_s))
            reply = Answered(self.models_status, self.models, content_type=self.models_type)
        else:
            self.requests.append((path, json.loads(body)))
            self.headers.append(headers)
            reply = await self._handled(json.loads(body), reader)
        writer.write(reply.raw if reply.raw is not None else _encoded(reply))
        await writer.drain()
        return reply.raw is None

    async def _handled(self, body: dict[str, Any], reader: asyncio.StreamReader) -> Answered:
        """The handler's reply; given up when the client closes the connection, as real servers do."""
        self.num_running += 1
        self.max_running = max(self.max_running, self.num_running)
        work = asyncio.ensure_future(self.handler(body))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.num_dropped += 1
                raise Hangup
            return work.result()
        finally:
            self.num_running -= 1
            for future in (work, gone):
                future.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)


def _encoded(reply: Answered) -> bytes:
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    headers = {"content-type": reply.content_type, "content-length": str(len(body)), **reply.headers}
    head = f"HTTP/1.1 {reply.status} Status\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
    return head.encode() + b"\r\n" + body


def said(content: str | None, finish_reason: str = "stop", usage: Any = None, **message: Any) -> Answered:
    """A chat completion."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
    }
    return Answered(200, {"object": "chat.completion", "choices": [choice], "usage": usage})
