"""Faults of those who own a fleet: the process that `relserve fleet up` leaves, and `relserve serve`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg

from benchmarks.fleet_faults.asked import MAX_TOKENS, PROMPT, Counting
from benchmarks.fleet_faults.left import came_of, left
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


class Owner:
    """The process that owns a fleet, started by the first who asks; its client keeps answers."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = f"fleet:{path}", path

    def fault(self, at: int, twice: bool, expected: list[str | None]) -> Found:
        """A statement whose fleet's owner is killed, once so many rows are answered; then it is asked again.

        The client starts a new owner. Where that one is killed, too, the statement ends with an error.
        """
        subprocess.run([*RELSERVE, "fleet", "up", str(self._path)], check=True, stdout=subprocess.DEVNULL)
        engine = shared_engine(self.name, load())
        counting, rows = Counting(engine), len(expected)
        con = connect(engine=counting, progress=False, cache=True)
        asking = _in_thread(lambda: answers(con, rows))
        while counting.num.total() < at and not asking.done():
            time.sleep(LOOK_S)
        before = counting.num.total()
        seen = _kill(engine, others_than=None)
        began_s = time.perf_counter()
        if twice:
            seen |= _kill(engine, others_than={pid for pid, _ in seen})
        error, found = "", list[str | None]()
        try:
            found = asking.result(PATIENCE_S)
        except EngineError as death:
            error = f"{type(death).__name__}: {death}"
        told_s = time.perf_counter() - began_s
        again = answers(con, rows)
        con.close()
        subprocess.run([*RELSERVE, "fleet", "down", str(self._path)], check=True, stdout=subprocess.DEVNULL)
        return {
            "kind": "owner", "at": at, "had": before, "error": error,
            "told_s" if twice else "back_s": told_s,
            "lost": _num_wrong(expected, again) + (0 if error else _num_wrong(expected, found)),
            "twice": counting.num.total() - len(counting.num), "orphans": left(seen),
        }  # fmt: skip


class Gateway:
    """`relserve serve` over a fleet, and a client over PostgreSQL's protocol.

    Args:
        owner: of the fleet: "own", the server's process, with which members are to end; or "shared", one that
            outlives it, with nothing to do then.
    """

    def __init__(self, path: Path, owner: str) -> None:
        self.name = f"fleet:{path}"
        self._environ: Mapping[str, str] = {**os.environ, "RELSERVE_ENGINE": owner}

    def fault(self, at: int, expected: list[str | None]) -> Found:
        """A statement whose server is killed, once so many rows are answered."""
        server = self._server()
        return asyncio.run(self._killed(server, at, expected))

    def is_right(self, expected: list[str | None]) -> bool:
        """Whether a server that is left alone gives all rows."""

        async def ask(port: int) -> list[str | None]:
            con = await _connected(port)
            try:
                return [row[0] for row in await con.fetch(statement(len(expected)))]
            finally:
                await con.close()

        with self._server() as server:
            return asyncio.run(ask(server.port)) == expected

    def _server(self) -> SqlServer:
        database = Path(tempfile.mkdtemp(prefix="rs-")) / "beer.duckdb"
        return SqlServer(database, self._environ, ("--model", self.name))

    async def _killed(self, server: SqlServer, at: int, expected: list[str | None]) -> Found:
        con = await _connected(server.port)
        before, had = self._num_answered(), 0
        asking = asyncio.ensure_future(con.fetch(statement(len(expected))))
        while not asking.done() and (had := self._num_answered() - before) < at:
            await asyncio.sleep(LOOK_S)
        seen, began_s, error = came_of(server.pid), time.perf_counter(), ""
        os.kill(server.pid, signal.SIGKILL)
        try:
            await asyncio.wait_for(asking, PATIENCE_S)
        except FAULTS as fault:
            error = f"{type(fault).__name__}: {fault}"
        told_s = time.perf_counter() - began_s
        server.close()
        return {
            "kind": "gateway", "at": at, "had": had, "error": error, "told_s": told_s,
            "lost": 0 if error else len(expected), "twice": 0, "orphans": left(seen) + self._num_busy(),
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


def _in_thread(work: Any) -> Any:
    pool = ThreadPoolExecutor(1)
    asked = pool.submit(work)
    pool.shutdown(wait=False)
    return asked


def _kill(engine: SharedEngine, others_than: set[int] | None) -> set[Any]:
    """Kill the process that owns a fleet, another than these where it is to be; gives all that came of it."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        try:
            pid = int(engine.place.lock.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pid = 0
        if pid and pid not in (others_than or ()):
            seen = came_of(pid, itself=True)
            os.kill(pid, signal.SIGKILL)
            return seen
        time.sleep(LOOK_S)
    raise TimeoutError("no process owns the fleet")


async def _connected(port: int) -> asyncpg.Connection:
    return await asyncpg.connect(host="127.0.0.1", port=port, user="bench", database="beer", ssl=False)


def _num_wrong(expected: list[str | None], found: list[str | None]) -> int:
    same = sum(a is not None and a == b for a, b in zip(expected, found, strict=False))
    return len(expected) - same
