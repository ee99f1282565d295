"""Serving the page in the server's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from relserve.errors import UsageError

PATIENCE_S = 2  # for requests under way when the server ends


class Certificate(NamedTuple):
    """The files of a certificate and its key, as the server's own TLS takes them."""

    chain: Path
    key: Path


class _Server(uvicorn.Server):
    """Leaves signals to whoever owns the loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@contextlib.asynccontextmanager
async def listening(
    app: ASGIApp, host: str, port: int, certificate: Certificate | None = None
) -> AsyncIterator[int]:
    """Serve an app until the block ends; gives the port, which the system chose where 0 was asked for.

    Raises:
        UsageError: nothing can listen there.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--http: cannot listen on {host} port {port}: {error}; try another port") from error
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="on",
        timeout_graceful_shutdown=PATIENCE_S,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )  # fmt: skip
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
