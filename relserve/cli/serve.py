"""`relserve serve`: a server in this process, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys

from relserve.engines.registry import announce
from relserve.server.options import Options
from relserve.server.page.serving import serving_page
from relserve.server.server import Server
from relserve.settings import prefer_shared

SWITCH_S = 0.001  # between threads of the process: its clients are many, and each wants little


def run(options: Options) -> None:
    """Serve until told to stop.

    Raises:
        UsageError: the options do not go together, a file is not to be had, or a port is taken.
    """
    prefer_shared()
    logging.basicConfig(format="%(asctime)s relserve: %(message)s", datefmt="%F %T", stream=sys.stderr)
    sys.setswitchinterval(SWITCH_S)
    asyncio.run(_serve(options))


async def _serve(options: Options) -> None:
    server = Server(options)
    async with contextlib.AsyncExitStack() as stack:
        if options.http_port is not None:
            page = serving_page(server, "127.0.0.1", options.http_port, options.http_token)
            port = await stack.enter_async_context(page)
            announce(f"the page is at http://127.0.0.1:{port}/")
        await server.run(lambda: announce(_where(server)))


def _where(server: Server) -> str:
    options = server.options
    name = options.database.name if options.database else "a database in memory, gone with the server,"
    tls = " with TLS" if options.tls_cert else ""
    return f"{name} is served on {options.host}:{server.port}{tls}: psql -h {options.host} -p {server.port}"
