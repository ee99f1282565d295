"""Reaching the resident engine of a model: connect to it, or start its process first."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.local.log import last_error, size_of
from relserve.engines.shared.greeting import Resident
from relserve.engines.shared.place import EnginePlace, holder, is_held, take_lock
from relserve.engines.shared.wire import is_own, read_json, write_json
from relserve.errors import EngineStartError

POLL_S = 0.02
GREETING_S = 20.0  # how long a process that listens may take to answer a greeting
COME_UP_S = 60.0  # how long a process may take until it listens; its model is loaded after that
LOCK_VARIABLE = "RELSERVE_RESIDENT_LOCK"  # the file descriptor of the lock that the process is to keep
MODULE = "relserve.resident"


class Line(NamedTuple):
    """A connection to a resident engine that has answered the greeting."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Hang up at once; what was asked on it is given up, and what is not sent yet is not sent."""
        self.writer.transport.abort()


async def connect(place: EnginePlace, hello: Mapping[str, Any]) -> Line | None:
    """A line to the resident engine of a place; None where nothing listens.

    Raises:
        EngineStartError: it is another user's, or it refuses: the message says why and how to mend it.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(place.socket)
    except OSError:
        return None
    line = Line(reader, writer)
    try:
        if not is_own(writer.get_extra_info("socket")):
            raise EngineStartError(f"{place.socket} is another user's; remove it or set RELSERVE_ENGINE=own")
        await write_json(writer, dict(hello))
        answer = await asyncio.wait_for(read_json(reader), GREETING_S)
        if error := answer.get("error"):
            raise EngineStartError(str(error))
    except TimeoutError:
        line.close()
        raise EngineStartError(
            f"what listens at {place.socket} does not answer: end {holder(place)}, or set RELSERVE_ENGINE=own"
        ) from None
    except (OSError, asyncio.IncompleteReadError):  # it ends just now
        line.close()
        return None
    except BaseException:
        line.close()
        raise
    return line


async def reach(place: EnginePlace, resident: Resident, service: str) -> tuple[Line, bool]:
    """A line to the resident engine of a model, whose process is started if there is none.

    Returns:
        The line, and whether this call started the process.

    Raises:
        EngineStartError: no process came up, or the one that is there refuses.
    """
    log_start, started_here = size_of(resident.log_path), False
    deadline_s = time.monotonic() + COME_UP_S
    while (line := await connect(place, resident.hello(service))) is None:
        lock = take_lock(place)  # None: a process is coming up, or about to end
        if lock is not None and started_here:
            os.close(lock)
            raise _ended_at_once(resident, log_start)
        if lock is not None:
            started_here = True
            _handed_on.add(lock)
            await in_daemon_thread(partial(_launch, place, resident, lock))
        if time.monotonic() > deadline_s:
            raise EngineStartError(
                f"the shared engine for {resident.model} does not listen after {COME_UP_S:g} s"
                f"{_see(resident.log_path)}"
            )
        await asyncio.sleep(POLL_S)
    return line, started_here


def _launch(place: EnginePlace, resident: Resident, lock: int) -> None:
    """Start the process, which keeps the lock for as long as it lives and is nobody's child; blocks.

    Its task is in a file of the user's alone: engine arguments may hold tokens, which commands show to all.
    """
    with contextlib.suppress(FileNotFoundError):
        place.socket.unlink()  # left behind: nobody holds the lock
    task = {
        "model": resident.model, "path": resident.path, "engine_args": dict(resident.engine_args),
        "idle_min": resident.idle_min, "socket": str(place.socket),
        "asked": time.time(), "log_path": str(resident.log_path) if resident.log_path is not None else None,
        "cache_dir": str(resident.cache_dir), "admission": resident.admission,
    }  # fmt: skip
    log = subprocess.DEVNULL
    with contextlib.suppress(OSError):  # an engine without a log is better than none
        if resident.log_path is not None:
            log = os.open(resident.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        place.task.write_text(json.dumps(task, default=str), encoding="utf-8")
        subprocess.run(  # it forks at once, and the process that goes on is the init process's child
            [sys.executable, "-m", MODULE, str(place.task)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd="/", pass_fds=[lock], start_new_session=True, timeout=COME_UP_S,
            env=_environment(lock, resident),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineStartError(f"cannot start a process for {resident.model}: {error}") from error
    finally:
        _handed_on.discard(lock)
        os.close(lock)
        if log != subprocess.DEVNULL:
            os.close(log)


def _environment(lock: int, resident: Resident) -> dict[str, str]:
    """This process's, with what it imports from; not the folder that it happens to be in."""
    paths = [path for path in sys.path if os.path.isabs(path)]
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), LOCK_VARIABLE: str(lock),
        "RELSERVE_CACHE_DIR": str(resident.cache_dir),
    }  # fmt: skip


def _close_handed_on() -> None:
    """A process that is forked off this one must not hold a lock that is on its way to a resident one."""
    for lock in _handed_on:
        os.close(lock)
    _handed_on.clear()


_handed_on: set[int] = set()
os.register_at_fork(after_in_child=_close_handed_on)


def _ended_at_once(resident: Resident, log_start: int) -> EngineStartError:
    why = last_error(resident.log_path, log_start) or "its process ended as soon as it was started"
    return EngineStartError(
        f"the shared engine for {resident.model} did not start: {why}{_see(resident.log_path)}"
    )


def _see(log_path: Path | None) -> str:
    return f"; its log is {log_path}" if log_path is not None else ""


async def wait_until_ended(place: EnginePlace, timeout_s: float) -> bool:
    """Wait until no process lives at a place; whether that came in time."""
    deadline_s = time.monotonic() + timeout_s
    while is_held(place):
        if time.monotonic() > deadline_s:
            return False
        await asyncio.sleep(POLL_S)
    return True
