"""A tool's work on a thread, and its caller: how far it is told meanwhile, and a cancelled one ends."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio
import duckdb
import pyarrow as pa
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from relserve.errors import RelserveError
from relserve.server.mcp.work import ToolWork, Work
from relserve.session.progress import words

T = TypeVar("T")
EVERY_S = 0.5  # between two looks how far a call is
AGAIN_S = 0.05  # between two interrupts of a call that is to end
THREADS = ThreadPoolExecutor(64, "relserve-mcp")  # asyncio's own are few: slow calls would hold up all others


async def called(work: ToolWork, do: Work, context: Context[Any, Any] | None) -> Any:
    """What a call gives.

    Args:
        do: runs on a thread, with the work's connection.
        context: who is told how far it is; None: nobody.

    Raises:
        ToolError: it failed; says why, for the model that called.
    """
    done = asyncio.get_running_loop().run_in_executor(THREADS, _run, work, do)
    try:
        async with asyncio.timeout(work.longest_s):
            while not (await asyncio.wait([done], timeout=EVERY_S))[0]:
                await _tell(work, context)
        return done.result()
    except TimeoutError:
        raise ToolError(f"ended after {work.longest_s:g} seconds, the most that a call may take") from None
    except (RelserveError, duckdb.Error, pa.ArrowException) as error:
        raise ToolError(str(error)) from error
    finally:
        if not done.done():
            with anyio.CancelScope(shield=True):
                await _end(work, done)


def _run(work: ToolWork, do: Work) -> Any:
    with work.connected():
        return do(work)


async def _end(work: ToolWork, done: asyncio.Future[Any]) -> None:
    """End a call; an interrupt may come between two of its statements, and is given again then."""
    while not done.done():
        work.cancel()
        await asyncio.wait([done], timeout=AGAIN_S)
    done.exception()  # nobody hears it


async def _tell(work: ToolWork, context: Context[Any, Any] | None) -> None:
    latest = work.client.latest
    if context is not None and latest is not None:
        await context.report_progress(latest.num_done, latest.num_distinct, words(latest, None))
