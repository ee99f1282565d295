"""The engine loop: one background thread with one asyncio loop for all engines of the process."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def engine_loop() -> asyncio.AbstractEventLoop:
    """The running loop; started on first use."""
    global _loop, _thread
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="relserve-engine-loop", daemon=True)
            _thread.start()
            atexit.register(_stop)
        return _loop


def spawn(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the engine loop from any thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, engine_loop())


def _stop() -> None:
    loop, thread = _loop, _thread
    if loop is None or thread is None:
        return
    loop.call_soon_threadsafe(loop.stop)
    thread.join(timeout=2)
