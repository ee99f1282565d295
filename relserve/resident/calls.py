"""The service for DuckDB's extension (`duckdb_ext/shell`): chunks of rows come, their answers go.

Each socket serves one thread of one DuckDB connection, one message at a time; a client that closes its socket
cancels what its statement asks. Messages and the answers' kinds are told in docs/duckdb_shell.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from relserve.engines.shared.wire import read_message
from relserve.errors import EngineError, RelserveError
from relserve.resident.caller import ExtensionConnection
from relserve.resident.request import ResidentRequest
from relserve.session.session import Session

_MAX_GONE = 64  # connections without a socket that are remembered


class _Callers:
    """The connections that have a socket open, by their names, and the latest of those that had one.

    A connection whose query is interrupted closes its sockets, and its history is still wanted.
    """

    def __init__(self) -> None:
        self._callers: dict[tuple[int, str], ExtensionConnection] = {}
        self._gone: OrderedDict[tuple[int, str], ExtensionConnection] = OrderedDict()
        self._num_sockets: dict[ExtensionConnection, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def joined(self, session: Session, name: str, instance: str) -> Iterator[ExtensionConnection]:
        """While inside, a socket of the connection of this name is open."""
        own = self._join(session, name, None if name == instance else self._join(session, instance, None))
        try:
            yield own
        finally:
            self._leave(session, name)
            if name != instance:
                self._leave(session, instance)

    def _join(
        self, session: Session, name: str, aggregates: ExtensionConnection | None
    ) -> ExtensionConnection:
        with self._lock:
            key = id(session), name
            caller = (
                self._callers.get(key)
                or self._gone.pop(key, None)
                or ExtensionConnection(session, aggregates)
            )
            self._callers[key] = caller
            self._num_sockets[caller] = self._num_sockets.get(caller, 0) + 1
            return caller

    def _leave(self, session: Session, name: str) -> None:
        with self._lock:
            key = id(session), name
            caller = self._callers[key]
            self._num_sockets[caller] -= 1
            if self._num_sockets[caller]:
                return
            del self._callers[key], self._num_sockets[caller]
            self._gone[key] = caller
            if len(self._gone) > _MAX_GONE:
                self._gone.popitem(last=False)
        caller.close()


_callers = _Callers()  # of this process
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
