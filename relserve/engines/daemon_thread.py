"""Blocking work off the event loop, in daemon threads: asyncio's pool would hold up the interpreter's end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_daemon_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Run `work` in a new daemon thread; the future belongs to the running loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            outcome: tuple[T | None, BaseException | None] = work(), None
        except BaseException as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):  # the loop may have been closed meanwhile
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="relserve-work", daemon=True).start()
    return future


async def to_its_end(work: Callable[[], T]) -> T:
    """The same, awaited; whoever is cancelled meanwhile waits for the end of `work`."""
    future = in_daemon_thread(work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise
