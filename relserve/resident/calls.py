"""The service for DuckDB's extension (`duckdb_ext/shell`): chunks of rows come, their answers go.

Each socket serves one thread of one DuckDB connection, one message at a time; a client that closes its socket
cancels what its statement asks. Messages and the answers' kinds are told in docs/duckdb_shell.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from relserve.engines.shared.wire import read_message
from relserve.errors import EngineError, RelserveError
from relserve.resident.caller import ExtensionConnection
from relserve.resident.callers import Callers
from relserve.resident.request import ResidentRequest
from relserve.session.session import Session

_callers = Callers()  # of this process
_LENGTH = struct.Struct("<I")


async def serve_calls(
    hello: dict[str, Any],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    session: Session,
    working: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> None:
    """Serve one socket until its client is gone.

    Args:
        hello: the client's first message; `connection` names the DuckDB connection, `instance` its database
            instance, `progress` tells whether somebody looks.
        session: what answers.
        working: entered while a chunk is answered.
    """
    with _callers.joined(session, str(hello.get("connection")), str(hello.get("instance"))) as caller:
        await _Socket(caller, reader, writer, bool(hello.get("progress")), working).serve()


class _Socket:
    """One socket; its chunks are answered in a thread of its own, for the session blocks."""

    def __init__(
        self,
        caller: ExtensionConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        shows_progress: bool,
        working: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._caller, self._reader, self._writer, self._working = caller, reader, writer, working
        self._shows_progress = shows_progress
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "relserve-calls")

    async def serve(self) -> None:
        """Answer messages until the client hangs up."""
        coming = asyncio.ensure_future(self._read())
        try:
            while (message := await coming) is not None:
                coming = asyncio.ensure_future(self._read())  # ends early when the client hangs up
                with self._working():
                    await self._serve_one(message, coming)
        except ConnectionError:
            pass
        finally:
            coming.cancel()
            self._thread.shutdown(wait=False)

    async def _serve_one(self, message: bytes, coming: asyncio.Future[bytes | None]) -> None:
        request = ResidentRequest(message, self._tell, self._shows_progress)
        answering = self._loop.run_in_executor(self._thread, self._answer, request)
        try:
            either: set[asyncio.Future[Any]] = {answering, coming}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and coming.done() and coming.result() is None:
                request.cancel()
            kind, body = await answering
        except asyncio.CancelledError:
            request.cancel()
            raise
        self._write(kind, body)
        await self._writer.drain()

    def _answer(self, request: ResidentRequest) -> tuple[str, bytes]:
        """The answer's kind and body; runs in the thread."""
        try:
            return self._caller.answer(request)
        except RelserveError as error:
            return "E", str(error).encode("utf-8", "replace")
        except Exception as error:  # the client waits for an answer, whatever it is
            return "E", f"{type(error).__name__}: {error}".encode("utf-8", "replace")

    def _tell(self, kind: str, text: str) -> None:
        """Send progress or a notice from another thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._write, kind, text.encode("utf-8", "replace"))

    def _write(self, kind: str, body: bytes) -> None:
        self._writer.write(_LENGTH.pack(len(body) + 1) + kind.encode() + body)

    async def _read(self) -> bytes | None:
        """The next message; None: the client is gone."""
        try:
            return await read_message(self._reader)
        except (asyncio.IncompleteReadError, ConnectionError, EngineError):
            return None
