"""`relserve serve`: a server in this process, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import sys

from relserve.engines.registry import announce, announce_with_times
from relserve.errors import UsageError
from relserve.machine.memory_limit import limit_memory
from relserve.server.log_lines import log_to_stderr
from relserve.server.mcp.limits import ToolLimits
from relserve.server.openai.gateway import Gateway
from relserve.server.openai.start import gateway_of
from relserve.server.options import ServerOptions
from relserve.server.page.app import app
from relserve.server.page.serving import page_host, serving
from relserve.server.places import places_of
from relserve.server.server import Server
from relserve.settings import prefer_shared

SWITCH_S = 0.001  # between threads of the process: its clients are many, and each wants little


def run(options: ServerOptions, limits: ToolLimits) -> None:
    """Serve until told to stop.

    Args:
        limits: of agents.

    Raises:
        UsageError: the options do not go together, a file is not to be had, or a port is taken.
    """
    prefer_shared()
    limit_memory()
    announce_with_times()
    log_to_stderr()
    sys.setswitchinterval(SWITCH_S)
    asyncio.run(_serve(options, limits))


async def _serve(options: ServerOptions, limits: ToolLimits) -> None:
    most = places_of(options)
    server = Server(options)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(server.close)
        if options.http_port is not None:
            announce(f"the page is at {await _serve_page(server, options.http_port, most, stack)}")
        serves_openai = options.openai_port is not None
        gateway = await _serve_openai(server, most, stack) if serves_openai else None
        agents = await stack.enter_async_context(contextlib.AsyncExitStack())
        if options.mcp_port is not None:
            await _serve_mcp(server, limits, options.mcp_port, most, agents)

        async def end() -> None:
            await asyncio.gather(agents.aclose(), *([gateway.close()] if gateway else []))

        await server.run(lambda: announce(_where(server)), end)


async def _serve_page(server: Server, port: int, most: int, stack: contextlib.AsyncExitStack) -> str:
    options = server.options
    has_tls = options.tls_cert is not None
    host = page_host(options.host, options.http_token, has_tls, options.users is not None)
    page = serving(app(server, options.http_token), host, port, server.tls, most=most)
    return _url(options, host, await stack.enter_async_context(page))


async def _serve_openai(server: Server, most: int, stack: contextlib.AsyncExitStack) -> Gateway:
    """OpenAI's API on a port of its own, of the engine that answers SQL; it is started at once."""
    options = server.options
    gateway = gateway_of(server)
    stack.push_async_callback(gateway.close)  # where another port cannot be had, too
    serves = serving(gateway, options.host, options.openai_port or 0, server.tls, "--openai", most)
    url = _url(options, options.host, await stack.enter_async_context(serves))
    announce(f"OpenAI's API for the model {server.engine.model!r} is at {url}v1; {gateway.who_may}")
    return gateway


async def _serve_mcp(
    server: Server, limits: ToolLimits, port: int, most: int, stack: contextlib.AsyncExitStack
) -> None:
    try:
        from relserve.server.mcp.start import serving_mcp
    except ModuleNotFoundError as error:
        raise UsageError(f"--mcp needs {error.name}: pip install 'relserve[mcp]'") from error
    url = await stack.enter_async_context(serving_mcp(server, limits, port, "--mcp", most))
    announce(f"MCP clients connect to {url}")


def _url(options: ServerOptions, host: str, port: int) -> str:
    return f"{'https' if options.tls_cert else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


def _where(server: Server) -> str:
    options = server.options
    name = options.database.name if options.database else "a database in memory, gone with the server,"
    tls = " with TLS" if options.tls_cert else ""
    return f"{name} is served on {options.host}:{server.port}{tls}: psql -h {options.host} -p {server.port}"
