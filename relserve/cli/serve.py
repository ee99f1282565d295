"""`relserve serve`: a server in this process, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys

from relserve.engines.registry import announce
from relserve.machine.memory_limit import limit_memory
from relserve.server.options import Options
from relserve.server.page.app import app
from relserve.server.page.serving import Certificate, page_host, serving
from relserve.server.server import Server
from relserve.settings import prefer_shared

SWITCH_S = 0.001  # between threads of the process: its clients are many, and each wants little


def run(options: Options) -> None:
    """Serve until told to stop.

    Raises:
        UsageError: the options do not go together, a file is not to be had, or a port is taken.
    """
    prefer_shared()
    limit_memory()
    logging.basicConfig(format="%(asctime)s relserve: %(message)s", datefmt="%F %T", stream=sys.stderr)
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    sys.setswitchinterval(SWITCH_S)
    asyncio.run(_serve(options))


async def _serve(options: Options) -> None:
    server = Server(options)
    async with contextlib.AsyncExitStack() as stack:
        if options.http_port is not None:
            announce(f"the page is at {await _serve_page(server, options.http_port, stack)}")
        await server.run(lambda: announce(_where(server)))


async def _serve_page(server: Server, port: int, stack: contextlib.AsyncExitStack) -> str:
    options = server.options
    has_tls = options.tls_cert is not None
    host = page_host(options.host, options.http_token, has_tls, options.users is not None)
    certificate = (
        Certificate(options.tls_cert, options.tls_key) if options.tls_cert and options.tls_key else None
    )
    page = serving(app(server, options.http_token), host, port, certificate)
    port = await stack.enter_async_context(page)
    return f"{'https' if certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


def _where(server: Server) -> str:
    options = server.options
    name = options.database.name if options.database else "a database in memory, gone with the server,"
    tls = " with TLS" if options.tls_cert else ""
    return f"{name} is served on {options.host}:{server.port}{tls}: psql -h {options.host} -p {server.port}"
