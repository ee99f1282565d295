"""Clients of a SQL server in a process of their own, over asyncpg; see `server_load`.

`python -m benchmarks.server_clients PLAN` reads a `SqlClientsPlan` as JSON, does it, and prints what came
of it as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

TIMEOUT_S = 120.0
STATEMENTS_A_CONNECTION = 40  # then a client hangs up, and comes again
ARRIVAL = 4  # times the time to think: clients do not all come at once
FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, asyncio.TimeoutError)
BIG, READY = "big", "ready"  # what the background client asks; a new connection
LATE, TICK_S = "clients late", 0.02  # by how much this process itself is late, which counts for every answer


@dataclass(frozen=True)
class ClientStatement:
    """One statement and its rows."""

    sql: str
    rows: list[list[Any]]
    arguments: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class SqlClientsPlan:
    """What the clients are to do.

    Attributes:
        seconds: after which nobody begins another statement.
        clients: how many there are, beside the one that asks `big` questions one after the other.
        think_s: what a client waits between statements, on average (exponential).
        shares: how often each kind is asked, relative to the others.
        questions: of each kind; `big` in order.
    """

    port: int
    database: str
    seconds: float
    clients: int
    think_s: float
    shares: dict[str, float]
    questions: dict[str, list[ClientStatement]]
    seed: int = 1

    def write(self, path: Path) -> None:
        """As a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> SqlClientsPlan:
        """What `write` wrote."""
        found = json.loads(path.read_text(encoding="utf-8"))
        questions = {
            kind: [ClientStatement(**each) for each in of] for kind, of in found["questions"].items()
        }
        return cls(**{**found, "questions": questions})


class SqlClients:
    """They do what the plan says.

    Attributes:
        told: kind, when it began in seconds, how many it took, and what was wrong ('' where nothing was).
    """

    def __init__(self, plan: SqlClientsPlan) -> None:
        self.plan, self.told = plan, list[tuple[str, float, float, str]]()
        self._began_s = time.perf_counter()

    async def run(self) -> None:
        """All of them, until each has its last answer."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.plan.clients):
                group.create_task(self._client(random.Random(f"{self.plan.seed} {number}")))
            if BIG in self.plan.questions:
                group.create_task(self._background())
            group.create_task(self._note_lateness())

    @property
    def _is_over(self) -> bool:
        return time.perf_counter() - self._began_s >= self.plan.seconds

    async def _client(self, chance: random.Random) -> None:
        kinds, shares = list(self.plan.shares), list(self.plan.shares.values())
        await asyncio.sleep(chance.random() * self.plan.think_s * ARRIVAL)
        while not self._is_over:
            con = await self._connect()
            for _ in range(STATEMENTS_A_CONNECTION):
                if con is None or con.is_closed():
                    break
                await asyncio.sleep(chance.expovariate(1 / self.plan.think_s))
                if self._is_over:
                    break
                kind = chance.choices(kinds, shares)[0]
                await self._ask(con, kind, chance.choice(self.plan.questions[kind]))
            await _hang_up(con)

    async def _background(self) -> None:
        number, con = 0, await self._connect()
        while con is not None and not self._is_over:
            await self._ask(con, BIG, self.plan.questions[BIG][number % len(self.plan.questions[BIG])])
            number += 1
        await _hang_up(con)

    async def _note_lateness(self) -> None:
        while not self._is_over:
            due_s = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            self._note(LATE, due_s, "")

    async def _connect(self) -> asyncpg.Connection | None:
        began_s = time.perf_counter()
        try:
            con = await asyncpg.connect(
                host="127.0.0.1", port=self.plan.port, user="bench", database=self.plan.database, ssl=False,
                timeout=TIMEOUT_S,
            )  # fmt: skip
        except FAULTS as error:
            self._note(READY, began_s, _words(error))
            await asyncio.sleep(0.1)
            return None
        self._note(READY, began_s, "")
        return con

    async def _ask(self, con: asyncpg.Connection, kind: str, question: ClientStatement) -> None:
        began_s = time.perf_counter()
        try:
            rows = await con.fetch(question.sql, *question.arguments, timeout=TIMEOUT_S)
        except FAULTS as error:
            self._note(kind, began_s, _words(error))
            return
        took_s = time.perf_counter() - began_s
        is_right = [list(row) for row in rows] == question.rows
        self.told.append((kind, began_s - self._began_s, took_s, "" if is_right else f"wrong: {rows[:3]}"))

    def _note(self, kind: str, began_s: float, fault: str) -> None:
        self.told.append((kind, began_s - self._began_s, time.perf_counter() - began_s, fault))


async def _hang_up(con: asyncpg.Connection | None) -> None:
    if con is not None and not con.is_closed():
        await con.close(timeout=TIMEOUT_S)


def _words(error: BaseException) -> str:
    return f"dropped: {type(error).__name__}: {error}"


def main() -> None:
    """Do what the plan says."""
    clients = SqlClients(SqlClientsPlan.read(Path(sys.argv[1])))
    asyncio.run(clients.run())
    print(json.dumps(clients.told))


if __name__ == "__main__":
    main()
