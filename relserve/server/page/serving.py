"""The page on a port of its own, in the loop of the server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from relserve.errors import UsageError
from relserve.server.page.guard import LOOPBACK
from relserve.server.page.sockets import HttpSocket, Sockets
from relserve.server.places import BATCH, MOST, lengthen_queue

PATIENCE_S = 2  # for requests under way when the server ends
# Idle connections are kept longer than clients keep them (OpenAI's 5 s): where the server closes one first, a
# request that is just on its way has no answer.
KEEP_ALIVE_S = 75


class _Page(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the server's, whose page this is."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        await super().startup(sockets)
        for listener in sockets or ():
            lengthen_queue(listener.fileno())


def page_host(host: str, token: str | None, has_tls: bool, has_users: bool) -> str:
    """Where to serve the page of a server that is on `host`: there with a token and TLS, else on loopback.

    Raises:
        UsageError: anybody on this machine would see what each user does.
    """
    if token is not None and not token:
        raise UsageError("--http-token is empty; give a word that is hard to guess")
    if has_users and token is None:
        raise UsageError(
            "--http shows what every user runs; with --users not everybody may see that, so give --http-token"
        )
    return host if (token is not None and has_tls) or host in LOOPBACK else "127.0.0.1"


@contextlib.asynccontextmanager
async def serving(
    page: ASGIApp,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    option: str = "--http",
    most: int = MOST,
) -> AsyncIterator[int]:
    """The page is served while inside; gives its port, which the system chooses where 0 is asked for.

    Args:
        tls: None: it is served without.
        option: by which the port was asked for.
        most: sockets at once.

    Raises:
        UsageError: nothing can listen there.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
        # Its connections inherit it; asyncio sees sockets made so as no TCP, and answers took 40 ms longer.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"{option}: cannot listen on {host}, port {port}: {error}; try another port"
        ) from error
    config = uvicorn.Config(
        page, log_level="warning", log_config=None, ws="none", server_header=False, access_log=False,
        backlog=BATCH, timeout_keep_alive=KEEP_ALIVE_S, timeout_graceful_shutdown=PATIENCE_S,
        http=partial(HttpSocket, Sockets(most), tls),  # type: ignore[arg-type]
    )  # fmt: skip
    server = _Page(config)
    task = asyncio.ensure_future(server.serve([listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()
