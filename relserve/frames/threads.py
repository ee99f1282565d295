"""Awaiting work that blocks: in a thread of its own, stopped when the awaiting task is cancelled."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """What `work` gives, without blocking the loop.

    Not in asyncio's own pool: that has few threads, and calls that wait for each other's rows would keep
    others from being scheduled in the engine.

    Args:
        work: given an event that is set when nobody waits for the result any more.
    """
    cancel = threading.Event()
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work(cancel))
        except BaseException as error:
            done.set_exception(error)

    context = contextvars.copy_context()
    done.set_running_or_notify_cancel()
    threading.Thread(target=context.run, args=(run,), name="relserve-dataframe", daemon=True).start()
    try:
        return await asyncio.wrap_future(done)
    except BaseException:  # not on success: a lazy frame keeps the event for when it is collected
        cancel.set()
        raise
