"""Faults of those who own a fleet: the process that `relserve fleet up` leaves, and `relserve serve`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import asyncpg

from benchmarks.fleet_faults.asked import MAX_TOKENS, PROMPT, Counting
from benchmarks.fleet_faults.left import came_of, in_thread, left
from benchmarks.fleet_faults.members import Found
from benchmarks.sql_server import SqlServer
from benchmarks.start_up import RELSERVE
from relserve.api import Connection, connect
from relserve.engines.registry import shared_engine
from relserve.engines.shared.engine import SharedEngine
from relserve.errors import EngineError
from relserve.machine.engine_status import state_dir
from relserve.machine.fleet_status import FleetStatus, read_fleets
from relserve.settings import load

PATIENCE_S = 300.0
LOOK_S = 0.02
FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)


def statement(rows: int) -> str:
    """The relQuery in SQL."""
    return f"SELECT llm('{PROMPT}', i, max_tokens := {MAX_TOKENS}) FROM range({rows}) t(i) ORDER BY i"


def answers(con: Connection, rows: int) -> list[str | None]:
    """Its answers in the order of the rows."""
    return [row[0] for row in con.execute(statement(rows)).fetchall()]


class FleetOwner:
    """The process that owns a fleet, started by the first who asks; its client keeps answers."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = f"fleet:{path}", path

    def fault(self, at: int, twice: bool, expected: list[str | None]) -> Found:
        """A statement whose fleet's owner is killed, once so many rows are answered; then it is asked again.

        The client starts a new owner, and is to go on with it. Only where that one is killed, too, may the
        statement end with an error.
        """
        subprocess.run([*RELSERVE, "fleet", "up", str(self._path)], check=True, stdout=subprocess.DEVNULL)
        engine = shared_engine(self.name, load())
        counting, rows = Counting(engine), len(expected)
        con = connect(engine=counting, progress=False, cache=True)
        asking = in_thread(lambda: answers(con, rows))
        while counting.num.total() < at and not asking.done():
            time.sleep(LOOK_S)
        before = counting.num.total()
        first, gone = _kill(engine)
        orphans, began_s = [gone], time.perf_counter()
        if twice:
            orphans.append(_kill(engine, other_than=first)[1])
        error, found = "", list[str | None]()
        try:
            found = asking.result(PATIENCE_S)
        except EngineError as death:
            error = f"{type(death).__name__}: {death}"
        ended_s = time.perf_counter() - began_s
        again = answers(con, rows)
        num_orphans = sum(each.result() for each in orphans)
        con.close()
        subprocess.run([*RELSERVE, "fleet", "down", str(self._path)], check=True, stdout=subprocess.DEVNULL)
        return {
            "kind": "owner", "at": at, "had": before, "error": error,
            "killed": 1 + twice, "told_s" if error else "back_s": ended_s,
            "lost": num_lost_of(expected, found, again, may_end=twice and bool(error)),
            "twice": counting.num.total() - len(counting.num), "orphans": num_orphans,
        }  # fmt: skip


class FleetGateway:
    """`relserve serve` over a fleet, and a client over PostgreSQL's protocol.

    Args:
        owner: of the fleet: "own", the server's process, with which members are to end; or "shared", one that
            outlives it, with nothing to do then.
    """

    def __init__(self, path: Path, owner: str) -> None:
        self.name = f"fleet:{path}"
        self._environ: Mapping[str, str] = {**os.environ, "RELSERVE_ENGINE": owner}

    def fault(self, at: int, expected: list[str | None]) -> Found:
        """A statement whose server is killed, once so many rows are answered; then a new one is asked it."""
        run = asyncio.run(self._killed(self._server(), at, len(expected)))
        run["lost"] = num_lost_of(expected, [], self._again(len(expected)), may_end=bool(run["error"]))
        return run

    def _again(self, rows: int) -> list[str | None]:
        """What a server that is left alone gives."""

        async def ask(port: int) -> list[str | None]:
            con = await _connected(port)
            try:
                return [row[0] for row in await con.fetch(statement(rows))]
            finally:
                await con.close()

        with self._server() as server:
            return asyncio.run(ask(server.port))

    def _server(self) -> SqlServer:
        database = Path(tempfile.mkdtemp(prefix="rs-")) / "beer.duckdb"
        return SqlServer(database, self._environ, ("--model", self.name))

    async def _killed(self, server: SqlServer, at: int, rows: int) -> Found:
        con = await _connected(server.port)
        before, had = self._num_answered(), 0
        asking = asyncio.ensure_future(con.fetch(statement(rows)))
        while not asking.done() and (had := self._num_answered() - before) < at:
            await asyncio.sleep(LOOK_S)
        seen, began_s, error = came_of(server.pid), time.perf_counter(), ""
        os.kill(server.pid, signal.SIGKILL)
        orphans, busy = in_thread(lambda: left(seen)), in_thread(self._num_busy)
        try:
            await asyncio.wait_for(asking, PATIENCE_S)
        except FAULTS as fault:
            error = f"{type(fault).__name__}: {fault}"
        told_s = time.perf_counter() - began_s
        server.close()
        return {
            "kind": "gateway", "at": at, "had": had, "error": error, "told_s": told_s,
            "orphans": orphans.result() + busy.result(),
        }  # fmt: skip

    def _fleets(self) -> list[FleetStatus]:
        return [each for each in read_fleets(state_dir()) if each.model == self.name]

    def _num_answered(self) -> int:
        """Rows that members have answered so far."""
        return sum(member.answered for each in self._fleets() for member in each.members)

    def _num_busy(self, within_s: float = 8.0) -> int:
        """Fleets that still work after so long, for nobody."""
        deadline_s = time.monotonic() + within_s
        while (num := sum(each.queries > 0 for each in self._fleets())) and time.monotonic() < deadline_s:
            time.sleep(LOOK_S)
        return num


def _kill(engine: SharedEngine, other_than: int = 0) -> tuple[int, Future[int]]:
    """Kill the process that owns a fleet, another than one; gives its id, and how much of it will be left."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        try:
            pid = int(engine.place.lock.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pid = 0
        if pid not in (0, other_than):
            seen = came_of(pid, itself=True)
            os.kill(pid, signal.SIGKILL)
            return pid, in_thread(partial(left, seen))
        time.sleep(LOOK_S)
    raise TimeoutError("no process owns the fleet")


async def _connected(port: int) -> asyncpg.Connection:
    return await asyncpg.connect(host="127.0.0.1", port=port, user="bench", database="beer", ssl=False)


def num_lost_of(
    expected: list[str | None], found: list[str | None], again: list[str | None], may_end: bool
) -> int:
    """Rows that a statement did not give, unless it may end without them, and those not given to a second."""
    return _num_wrong(expected, again) + (0 if may_end else _num_wrong(expected, found))


def _num_wrong(expected: list[str | None], found: list[str | None]) -> int:
    same = sum(a is not None and a == b for a, b in zip(expected, found, strict=False))
    return len(expected) - same
