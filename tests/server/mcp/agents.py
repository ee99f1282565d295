"""Databases served to agents, over HTTP in a thread and over stdio in a process, and the SDK's own client."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from benchmarks.attacks.injected import _obey
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine, by_hash
from relserve.errors import Failure, FailureKind
from relserve.server.mcp.limits import ToolLimits
from relserve.server.mcp.start import serve_http
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from tests.ending import ends_soon
from tests.waiting import PATIENCE_S

SHOP = """
CREATE TABLE reviews AS SELECT i AS id, 'review ' || i AS review, i % 5 AS stars,
    DATE '2025-01-01' + i::INTEGER AS day, 1.5::DECIMAL(4, 2) AS price FROM range(500) t(i);
COMMENT ON TABLE reviews IS 'of customers';
CREATE VIEW good AS FROM reviews WHERE stars > 3;
CREATE MACRO twice(x) AS 2 * x;
CREATE SCHEMA side;
CREATE TABLE side."odd name" AS SELECT 1 AS one;
"""
COUNT = "How many reviews are there?"
PATIENT = ToolLimits(seconds=PATIENCE_S)
CHILD = Path(__file__).with_name("stdio_child.py")


def answer(prompt: str, submission: Submission) -> str | Failure:
    """It obeys the orders OBEY[..] in a prompt, writes the SQL of one question, and fails one row."""
    if "OBEY[" in prompt:
        return _obey(prompt, submission)
    if COUNT in prompt:
        return "```sql\nSELECT count(*) FROM reviews\n```"
    if "broken" in prompt:
        return Failure(FailureKind.REFUSED, "as it was told to")
    return by_hash(prompt, submission)


def shop(folder: Path) -> Path:
    """A database file."""
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as con:
        con.execute(SHOP)
    return path


class ServedAgents:
    """A server of MCP over HTTP.

    Attributes:
        url: where clients connect to.
    """

    def __init__(self, server: Server, url: str) -> None:
        self.server, self.url = server, url

    @asynccontextmanager
    async def client(self, key: str | None = None, **options: Any) -> AsyncIterator[Client]:
        """The SDK's own."""
        async with client_of(self.url, key, **options) as client:
            yield client


@asynccontextmanager
async def client_of(url: str, key: str | None = None, **options: Any) -> AsyncIterator[Client]:
    """The SDK's own client of a server."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, verify=False) as http:
        async with Client(streamable_http_client(url, http_client=http), **options) as client:
            yield client


@contextmanager
def served(engine: ScriptedEngine, limits: ToolLimits = PATIENT, **options: Any) -> Iterator[ServedAgents]:
    """A server in a thread."""
    is_up: Future[tuple[str, Any, asyncio.Event]] = Future()
    server = Server(ServerOptions(**options), engine)

    async def serve() -> None:
        ends = asyncio.Event()
        loop = asyncio.get_running_loop()
        await serve_http(server, limits, 0, lambda url: is_up.set_result((url, loop, ends)), ends)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    url, loop, ends = is_up.result(PATIENCE_S)
    try:
        yield ServedAgents(server, url)
    finally:
        loop.call_soon_threadsafe(ends.set)
        ends_soon(thread)
        thread.join(PATIENCE_S)
        server.close()


def stdio(path: Path, seconds: float = PATIENCE_S) -> StdioServerParameters:
    """A server in a process of its own, as an agent's program starts it."""
    args = [str(CHILD), str(path), str(seconds)]
    return StdioServerParameters(command=sys.executable, args=args, cwd=path.parent)


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool gives; the text of an error."""
    result = await client.call_tool(tool, arguments)
    return result.content[0].text if result.is_error else result.structured_content  # type: ignore[union-attr]
