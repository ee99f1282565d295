"""The page on a port of its own, in the loop of the server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Generator

import uvicorn

from relserve.errors import UsageError
from relserve.server.page.app import app
from relserve.server.page.facts import ServerFacts


class _Page(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are the server's, whose page this is."""
        yield


@contextlib.asynccontextmanager
async def serving_page(facts: ServerFacts, host: str, port: int, token: str | None) -> AsyncIterator[int]:
    """The page is served while inside; gives its port.

    Raises:
        UsageError: the port is taken.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"the page cannot listen on {host}:{port}: {error.strerror}") from error
    page = _Page(uvicorn.Config(app(facts, token), log_level="warning", ws="none"))
    task = asyncio.ensure_future(page.serve([listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        page.should_exit = page.force_exit = True
        await task
        listener.close()
