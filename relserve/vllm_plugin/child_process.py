"""Sets an engine process that relserve started apart from its terminal, and ends it with its parent.

vLLM leaves the engine in the parent's process group, where Ctrl-C in a terminal ends it, and does not
notice a parent that was killed. Nothing here acts in a process that `LocalEngine` did not start.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from multiprocessing import resource_tracker
from typing import Any

from relserve.machine.memory_limit import lift_memory_limit

PARENT_VARIABLE = "RELSERVE_ENGINE_PARENT"  # pid of the process that started the engine
LOG_VARIABLE = "RELSERVE_ENGINE_LOG"  # where the engine's output goes; unset: the parent's stderr
PROCESS_NAME = "EngineCore"  # vLLM's name for the process
POLL_S = 0.5

_is_set_up = False


def set_up() -> bool:
    """Leave the terminal's process group, log to a file, and end when the parent has ended.

    Returns:
        Whether it did: not in processes of others, and not twice.
    """
    parent = os.environ.get(PARENT_VARIABLE, "")
    if _is_set_up or not parent.isdigit():
        return False
    if not multiprocessing.current_process().name.startswith(PROCESS_NAME):
        return False
    set_up_forked()
    return True


def set_up_forked() -> None:
    """The same for an engine's process that was forked off its parent, before it is called what it is."""
    global _is_set_up
    _is_set_up = True
    parent = int(os.environ[PARENT_VARIABLE])
    _end_if_orphaned(parent)
    with contextlib.suppress(OSError):
        os.setsid()
    lift_memory_limit()
    if path := os.environ.get(LOG_VARIABLE):
        _log_to(path)
    threading.Thread(target=_watch, args=(parent,), name="relserve-parent-watch", daemon=True).start()


def own_resource_tracker() -> None:
    """Give the engine a resource tracker of its own, to be called before anything uses one.

    With its parent's, a killed engine makes the user's script warn of "leaked semaphore objects" at its end.
    """
    tracker = getattr(resource_tracker, "_resource_tracker", None)
    inherited = getattr(tracker, "_fd", None)
    if tracker is not None and inherited is not None:
        tracker._fd = None
        os.close(inherited)


def _watch(parent: int) -> None:
    # Polling, because PR_SET_PDEATHSIG fires when the parent's starting thread ends, not its process.
    while True:
        _end_if_orphaned(parent)
        time.sleep(POLL_S)


def _end_if_orphaned(parent: int) -> None:
    if os.getppid() != parent:
        os._exit(1)


def _log_to(path: str) -> None:
    """Send stdout and stderr, also of C code and of worker processes, to the end of a file."""
    try:
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        sys.stderr.write(f"relserve: cannot log to {path} ({error.strerror}); the engine logs here instead\n")
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    lose_what_does_not_fit()


def lose_what_does_not_fit() -> None:
    """Have what this process prints dropped where the disk is full: a log must not end an engine."""
    sys.stdout, sys.stderr = _LossyStream(sys.stdout), _LossyStream(sys.stderr)


class _LossyStream:
    """A text stream that drops what a full disk does not take."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
