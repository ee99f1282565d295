"""One request and its answer on the wire, whose client may leave at any time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from relserve.server.openai.events import framed
from relserve.server.openai.refusal import Refusal, bad_request

MAX_BODY = 4 << 20  # bytes of a request
FILE_CHUNK = 1 << 18  # bytes of a file that is sent, which are in memory
BODY_S = 60.0  # within which it must have come
LEFT = 499  # the status of a request whose client has left, in metrics alone


class ClientLeft(Exception):
    """The client has gone."""


class Exchange:
    """Answers one request.

    Attributes:
        began_s: when the request came, by the wall clock.
        status: that was sent, or is to be told in metrics; None: none yet.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.request = Request(scope, receive)
        self._receive, self._send = receive, send
        self.began_s = time.time()
        self.status: int | None = None
        self._streams = False

    async def body(
        self, kind: str = "application/json", most: int = MAX_BODY, within_s: float = BODY_S
    ) -> bytes:
        """The request's body, of so many bytes at most.

        Raises:
            Refusal: it is too large, too slow, or not of this kind by its own account.
            Left: the client left while it sent it.
        """
        told = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if told != kind:  # a web page elsewhere can have a browser send other kinds than JSON unasked
            raise bad_request(f"the content-type is {told or 'not given'}; it must be {kind}")
        parts, size = [], 0
        try:
            async with asyncio.timeout(within_s):
                async for part in self.request.stream():
                    size += len(part)
                    if size > most:
                        raise Refusal(413, f"the body has more than {most:,} bytes")
                    parts.append(part)
        except TimeoutError:
            raise Refusal(408, f"the body did not come within {within_s:g} s") from None
        except ClientDisconnect:
            raise ClientLeft from None
        return b"".join(parts)

    async def while_there(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work, given up when the client leaves; the body must have been read.

        Raises:
            Left: it did.
        """
        working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(self._left())
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientLeft
            working.result()
        finally:
            for task in (working, leaving):
                task.cancel()
            with contextlib.suppress(BaseException):
                await working

    async def _left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def whole(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        """Answer at once, in JSON; as bytes, `content` may be that already, or what the headers say."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        await self._start(status, {"content-type": "application/json", **(headers or {})}, len(data))
        await self._send({"type": "http.response.body", "body": data})

    async def file(self, path: Path) -> None:
        """Answer with a file's bytes, a few at a time; one that is removed meanwhile is sent to its end.

        Raises:
            OSError: it is not there.
        """
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            await self._start(200, {"content-type": "application/octet-stream"}, length)
            while content := await asyncio.to_thread(file.read, FILE_CHUNK):
                await self._send({"type": "http.response.body", "body": content, "more_body": True})
        await self.end()

    async def begin(self) -> None:
        """Begin to answer in events."""
        self._streams = True
        await self._start(200, {"content-type": "text/event-stream", "cache-control": "no-store"})

    async def event(self, data: bytes) -> None:
        """Send an event; waits while the client is slow to take it."""
        await self._send({"type": "http.response.body", "body": framed(data), "more_body": True})

    async def end(self) -> None:
        """No more events."""
        await self._send({"type": "http.response.body", "body": b""})

    async def refuse(self, refusal: Refusal) -> None:
        """Tell why there is no answer, or why it ends here."""
        if not self._streams:
            await self.whole(refusal.status, refusal.body(), refusal.headers())
            return
        self.status = refusal.status
        await self.event(json.dumps(refusal.body()).encode())
        await self.end()

    async def _start(self, status: int, headers: Mapping[str, str], length: int | None = None) -> None:
        self.status = status
        sent = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        if length is not None:
            sent.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": sent})
