"""`relserve mcp`: the tools over stdio or HTTP, until the client leaves or Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from relserve.api import login_name
from relserve.server.mcp.http import http_app, user_of
from relserve.server.mcp.limits import ToolLimits, UserCalls
from relserve.server.mcp.tools import mcp_server
from relserve.server.options import ServerOptions
from relserve.server.page.serving import serving
from relserve.server.places import MOST
from relserve.server.server import Server
from relserve.server.users.exposure import check_exposed
from relserve.server.users.users import User


async def serve_stdio(server: Server, limits: ToolLimits) -> None:
    """Until the client closes its end."""
    user = User(login_name() or "mcp")
    await mcp_server(server, limits, lambda _: user).run_stdio_async()


async def serve_http(
    server: Server, limits: ToolLimits, port: int, is_up: Callable[[str], None], ends: asyncio.Event
) -> None:
    """Until `ends`.

    Args:
        is_up: told the URL.

    Raises:
        UsageError: nothing can listen there, or others could come in.
    """
    async with serving_mcp(server, limits, port, "--http") as url:
        is_up(url)
        await ends.wait()


@asynccontextmanager
async def serving_mcp(
    server: Server, limits: ToolLimits, port: int, option: str, most: int = MOST
) -> AsyncIterator[str]:
    """The tools are served over HTTP while inside; gives their URL. At the end, calls under way are ended.

    Args:
        option, most: as of `serving`.

    Raises: as `serve_http`.
    """
    options, users = server.options, server.users
    check_exposed(options.host, options.tls_cert is not None, users is not None)
    nobody = User(login_name() or "mcp")

    def who(request: Any) -> User:
        return nobody if users is None else user_of(request, users)

    calls = UserCalls(limits, time.monotonic)
    app = http_app(mcp_server(server, limits, who, calls), users, options.host)
    try:
        async with serving(app, options.host, port, server.tls, option, most) as bound:
            host = f"[{options.host}]" if ":" in options.host else options.host
            yield f"{'https' if server.tls else 'http'}://{host}:{bound}/mcp"
    finally:
        await calls.all_ended()  # uvicorn cancels them, and does not wait


async def run(
    options: ServerOptions, limits: ToolLimits, port: int | None, say: Callable[[str], None]
) -> None:
    """Serve over stdio, or over HTTP on a port.

    Raises:
        UsageError: see `Server` and `serve_http`.
    """
    server = Server(options)
    try:
        if port is None:
            await serve_stdio(server, limits)
            return
        ends = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ends.set)
        await serve_http(server, limits, port, lambda url: say(f"MCP clients connect to {url}"), ends)
    finally:
        server.close()
