"""Awaiting work that blocks: in a thread of its own, stopped when the awaiting task is cancelled."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from relserve.engines.daemon_thread import in_daemon_thread

T = TypeVar("T")


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """What `work` gives, without blocking the loop.

    Not in asyncio's own pool: that has few threads, and calls that wait for each other's rows would keep
    others from being scheduled in the engine.

    Args:
        work: given an event that is set when nobody waits for the result any more.
    """
    cancel = threading.Event()
    context = contextvars.copy_context()
    try:
        return await in_daemon_thread(partial(context.run, work, cancel))
    except BaseException:  # not on success: a lazy frame keeps the event for when it is collected
        cancel.set()
        raise
