"""Stop in SQL Lab: how long until the server, and the engine behind it, have nothing to do."""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from relserve.machine.engine_status import read_engines, state_dir
from tests.clients.superset.app import RefusedError
from tests.clients.superset.servers import psql
from tests.clients.superset.target import Target, new_client_id

RUNS_S = 2.0  # before Stop
WITHIN_S = 60.0
LOOKS_EVERY_S = 0.02
ACTIVE = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"


class Stopped(NamedTuple):
    """What Stop did.

    Attributes:
        answered_s: until Superset said that it had stopped the query; None where there was none to stop.
        idle_s: until nothing ran any more; None where that did not come.
        said: what SQL Lab said of the query, or why it could not be stopped. After Stop that is "stopped",
            or an error where Superset saw the connection's end before it had noted the Stop.
    """

    answered_s: float | None
    idle_s: float | None
    said: str


def stop(on: Target, sql: str) -> Stopped:
    """Run a long text in SQL Lab and stop it by Superset's own call."""
    client_id = new_client_id()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(_said, on, sql, client_id)
        time.sleep(RUNS_S)
        if running.done():
            return Stopped(None, None, f"over before Stop: {running.result()}")
        if not num_active(on.server.port):
            return Stopped(None, None, f"not in pg_stat_activity: {running.result()}")
        started = time.perf_counter()
        on.superset.post("/api/v1/query/stop", client_id=client_id)
        answered_s = time.perf_counter() - started
        while not running.done() or num_active(on.server.port) or num_requests():
            if time.perf_counter() - started > WITHIN_S:
                return Stopped(answered_s, None, f"ran on after Stop: {running.result()}")
            time.sleep(LOOKS_EVERY_S)
        return Stopped(answered_s, time.perf_counter() - started, running.result())


def num_active(port: int) -> int:
    """How many other clients' statements a server is running."""
    done = subprocess.run([*psql(port), "-Atc", ACTIVE], capture_output=True, text=True, check=True)
    return int(done.stdout)


def num_requests() -> int:
    """How many requests the engines of this machine have, running and waiting."""
    return sum(engine.running + engine.waiting for engine in read_engines(state_dir()))


def _said(on: Target, sql: str, client_id: str) -> str:
    try:
        return str(on.lab(sql, client_id=client_id)["status"])
    except RefusedError as refused:
        return str(refused).partition("\n")[0]
