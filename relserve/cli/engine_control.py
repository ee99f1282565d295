"""What `relserve engine start`, `stop`, `status` and `logs` do."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import Coroutine
from datetime import datetime
from typing import Any

from rich.table import Table

from relserve.cli.console import console
from relserve.engines.loop import spawn
from relserve.engines.registry import log_path_of, path_of, shared_engine
from relserve.engines.shared.engine import SharedEngine
from relserve.engines.shared.place import EnginePlace, holder, is_held, place_of, places
from relserve.engines.shared.start import Line, connect, wait_until_ended
from relserve.engines.shared.wire import read_json
from relserve.errors import EngineError
from relserve.settings import load

WAIT_S = 0.1  # between two looks at an engine that is coming up
STOP_S = 15.0  # how long an engine may take to end before the command says that it does not
FOLLOW_S = 0.3
COLUMNS = ("model", "pid", "relserve", "started", "queries", "prompts answered", "idle", "ends after")


def start(model: str | None, print_socket: bool) -> None:
    """Start a model's shared engine and wait until it is up.

    Raises:
        ModelError: the name leads to no model.
        EngineError: it does not come up.
    """
    engine = _shared(model)
    started = time.monotonic()
    spawn(engine.start()).result()
    if print_socket:
        print(engine.place.socket)
    else:
        print(f"the shared engine for {engine.model} is up ({time.monotonic() - started:.1f} s)")


def stop(model: str | None, every: bool) -> None:
    """Stop one, or all; raises EngineError where one does not end."""
    found = places() if every else [find_place(_name(model))]
    stopped = [place for place in found if _await(_stop(place))]
    if not stopped:
        print("no shared engine is up" if every else f"no shared engine is up for {_name(model)}")
    for place in stopped:
        if not _await(wait_until_ended(place, STOP_S)):
            raise EngineError(f"{holder(place)} at {place.socket} does not end; kill it")
        print("stopped")


def find_place(model: str) -> EnginePlace:
    """Where a model's shared engine is, or would be; a fleet's file need not be there for that."""
    return place_of(path_of(model), load().cache_dir)


def show(as_json: bool) -> None:
    """Show the shared engines of this user."""
    found = [status for place in places() if (status := _await(_status(place))) is not None]
    if as_json:
        for status in found:
            print(json.dumps(status))
        return
    if not found:
        print("No shared engine is up. `relserve sql` and `relserve engine start` start one.")
        return
    table = Table(*COLUMNS, box=None, header_style="bold")
    for status in found:
        table.add_row(*_cells(status))
    console().print(table)


def show_log(model: str | None, num_lines: int, follow: bool) -> None:
    """Write the end of a log to stdout; raises EngineError where there is none."""
    path = log_path_of(_name(model), load())
    if path is None or not path.exists():
        raise EngineError(f"no engine for {_name(model)} has written a log yet")
    with path.open(encoding="utf-8", errors="replace") as log:
        sys.stdout.writelines(deque(log, maxlen=num_lines))
        while follow:
            sys.stdout.flush()
            time.sleep(FOLLOW_S)
            sys.stdout.writelines(log)


def _name(model: str | None) -> str:
    return model or load().model


def _shared(model: str | None) -> SharedEngine:
    return shared_engine(_name(model), load())


def _await(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def _stop(place: EnginePlace) -> bool:
    """Tell the engine at a place to end; whether there was one. One that is coming up is waited for."""
    while is_held(place):
        line = await _reached(place, "stop")
        if line is not None:
            line.close()
            return True
        await asyncio.sleep(WAIT_S)
    return False


async def _status(place: EnginePlace) -> dict[str, Any] | None:
    """What an engine tells of itself; None where it does not, as it ends just now or hangs."""
    line = await _reached(place, "status")
    if line is None:
        return None
    try:
        return await read_json(line.reader)
    except (OSError, asyncio.IncompleteReadError):
        return None
    finally:
        line.close()


async def _reached(place: EnginePlace, service: str) -> Line | None:
    """A line to the engine at a place; None where it does not listen, or does not answer, which is told."""
    try:
        return await connect(place, {"service": service})
    except EngineError as error:
        print(f"relserve: {error}", file=sys.stderr)
        if service == "stop":
            raise
        return None


def _cells(status: dict[str, Any]) -> list[str]:
    since = datetime.fromisoformat(status["started"]).astimezone()
    ends = f"{status['idle_min']:g} min" if status["idle_min"] else "never"
    return [
        status["model"], str(status["pid"]), status["relserve"], f"{since:%F %T}", str(status["queries"]),
        f"{status['answered']:,}", f"{status['idle_s']:.0f} s", ends,
    ]  # fmt: skip
