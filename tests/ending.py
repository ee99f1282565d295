"""What ends late: servers in threads, for which uvicorn takes 0.2 s, most asleep; engines; processes."""

from __future__ import annotations

import asyncio
import faulthandler
import sys
import threading

from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import engine_loop, spawn
from tests.waiting import PATIENCE_S

_ending: list[threading.Thread] = []


def ends_soon(thread: threading.Thread) -> None:
    """A thread that was told to end is looked at when the run ends."""
    _ending[:] = [each for each in _ending if each.is_alive()]
    _ending.append(thread)


def check_all_ended() -> None:
    """Every such thread ends."""
    for thread in _ending:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), f"{thread} did not end"


def close_or_say_where(engine: LocalEngine) -> None:
    """Close an engine; if that takes too long, print where each thread and each task of its loop waits."""
    closing = spawn(engine.close())
    try:
        closing.result(timeout=PATIENCE_S)
    except TimeoutError:
        faulthandler.dump_traceback(sys.stderr)
        for task in asyncio.all_tasks(engine_loop()):
            task.print_stack(file=sys.stderr)
        raise


def said_by(stderr: str) -> str:
    """What a process said, without what nanobind says of DuckDB's module at the end.

    It does where a daemon thread had not left the module yet, which on a busy machine happens now and then.
    """
    return stderr.partition("nanobind: leaked ")[0]
