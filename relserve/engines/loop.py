"""The engine loop: one background thread with one asyncio loop for all engines of the process.

A fork copies the loop without its thread, and connections that are the parent's: the child gets an error.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from relserve.errors import EngineError

END_S = 2.0  # for which the process waits as it ends

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_owner = 0  # the process whose loop it is


def engine_loop() -> asyncio.AbstractEventLoop:
    """The running loop; started on first use.

    Raises:
        EngineError: it is that of the process from which this one was forked.
    """
    global _loop, _thread, _owner
    if _loop is not None and _owner != os.getpid():  # before the lock, which may have been copied locked
        raise EngineError(
            "relserve was used before this process was forked, and its engines stayed behind; start the "
            "process with multiprocessing's 'spawn' method: multiprocessing.get_context('spawn').Pool(..)"
        )
    with _lock:
        if _loop is None:
            _owner = os.getpid()
            _loop = asyncio.new_event_loop()
            _loop.set_exception_handler(_report)
            _thread = threading.Thread(target=_loop.run_forever, name="relserve-engine-loop", daemon=True)
            _thread.start()
            atexit.register(_stop)
        return _loop


def spawn(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the engine loop from any thread; errors as of `engine_loop`."""
    try:
        loop = engine_loop()
    except EngineError:
        coroutine.close()  # it would warn that nobody awaited it
        raise
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what nobody caught as asyncio does, but no end that is in order.

    Sockets of a dead engine hear of its end by ZeroMQ, which vLLM brings; and aiohttp tells of connections
    that were still open as a program ended or dropped an engine, which need not be closed.
    """
    is_left_open = context.get("message", "").startswith("Unclosed ")
    if not is_left_open and type(context.get("exception")).__name__ != "ContextTerminated":
        loop.default_exception_handler(context)


def _stop() -> None:
    loop, thread = _loop, _thread
    if loop is None or thread is None or _owner != os.getpid():
        return
    with contextlib.suppress(KeyboardInterrupt, TimeoutError):  # the process ends in any case
        asyncio.run_coroutine_threadsafe(_await_cancelled(), loop).result(END_S)
    loop.call_soon_threadsafe(loop.stop)
    with contextlib.suppress(KeyboardInterrupt):
        thread.join(END_S)


async def _await_cancelled() -> None:
    """Let what was cancelled, as by Ctrl-C, end in order: asyncio tells of tasks that end half-way."""
    if cancelled := [task for task in asyncio.all_tasks() if task.cancelling()]:
        await asyncio.wait(cancelled)
