"""Clients of one server in a process of their own: stock OpenAI clients, and SQL clients over asyncpg.

`python -m benchmarks.gateway.clients PLAN` reads a `GatewayPlan` as JSON, does it, and prints what came of it
as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import openai

TIMEOUT_S = 600.0
IN_TIME, LATE, REFUSED, FAILED = "in time", "late", "refused", "failed"
TOO_MANY, TIMED_OUT = 429, 504  # HTTP
PASSED = "the deadline passed before the answer came"  # of a row that had been let in
FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, asyncio.TimeoutError)


class ClientReport(NamedTuple):
    """What came of one request, or of the rows of one statement.

    Attributes:
        what: one of the words above.
        rows: that it stands for.
        estimate: whether who was refused was told how long it would have taken.
        note: the error, of what failed.
        at_s: when that was, from the beginning on.
    """

    user: str
    what: str
    took_s: float
    rows: int = 1
    estimate: bool = False
    note: str = ""
    at_s: float = 0.0


@dataclass(frozen=True)
class GatewayUser:
    """One user's clients.

    Attributes:
        key: of OpenAI's API; "" where they speak SQL, with the password.
        clients: each does one thing at a time; without meaning beside a `rate`.
        rate: requests a second, which come whether the ones before have been answered or not; 0: each
            client asks again as soon as it has its answer.
        every_s: between the times when statements of a client of SQL are due, on average, whatever they take;
            0: each as soon as the one before has its answer.
        deadline_s: of each request; None: none.
        rows: of a statement.
    """

    user: str
    key: str = ""
    password: str = ""
    clients: int = 1
    rate: float = 0.0
    every_s: float = 0.0
    deadline_s: float | None = None
    rows: int = 5


@dataclass(frozen=True)
class GatewayPlan:
    """Who asks what, for how long; `core`: of the clients' process, None: as it is."""

    port: int
    url: str
    database: str
    seconds: float
    max_tokens: int
    texts: list[str]
    callers: list[GatewayUser]
    core: int | None = None
    seed: int = 1

    def write(self, path: Path) -> None:
        """As a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> GatewayPlan:
        """What `write` wrote."""
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**found, "callers": [GatewayUser(**each) for each in found["callers"]]})


class GatewayClients:
    """They do what the plan says."""

    def __init__(self, plan: GatewayPlan) -> None:
        self.plan, self.told = plan, list[ClientReport]()
        self._random = random.Random(plan.seed)
        self._end_s = time.perf_counter() + plan.seconds
        self._fresh = 0

    async def run(self) -> None:
        """All of them, until each has its last answer."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            for caller in self.plan.callers:
                if not caller.key:
                    for _ in range(caller.clients):
                        group.create_task(self._sql(caller))
                    continue
                client = await stack.enter_async_context(self._openai(caller))  # to make one takes 20 ms
                if caller.rate:
                    group.create_task(self._stream(client, caller, group))
                    continue
                for _ in range(caller.clients):
                    group.create_task(self._loop(client, caller))

    def _tell(self, told: ClientReport) -> None:
        at_s = self.plan.seconds - (self._end_s - time.perf_counter())
        self.told.append(told._replace(at_s=at_s))

    @property
    def _is_over(self) -> bool:
        return time.perf_counter() >= self._end_s

    def _text(self) -> str:
        self._fresh += 1  # no two prompts are equal
        return f"{self._fresh} {self._random.choice(self.plan.texts)}"

    async def _stream(
        self, client: openai.AsyncOpenAI, caller: GatewayUser, group: asyncio.TaskGroup
    ) -> None:
        next_s = time.perf_counter()
        while not self._is_over:
            next_s += self._random.expovariate(caller.rate)
            await asyncio.sleep(max(next_s - time.perf_counter(), 0.0))
            group.create_task(self._complete(client, caller))

    async def _loop(self, client: openai.AsyncOpenAI, caller: GatewayUser) -> None:
        while not self._is_over:
            await self._complete(client, caller)

    def _openai(self, caller: GatewayUser) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=self.plan.url, api_key=caller.key, max_retries=0, timeout=TIMEOUT_S
        )

    async def _complete(self, client: openai.AsyncOpenAI, caller: GatewayUser) -> None:
        more: dict[str, Any] = {"ignore_eos": True}
        if caller.deadline_s is not None:
            more["deadline"] = caller.deadline_s
        began_s = time.perf_counter()
        try:
            await client.completions.create(
                model="tiny", prompt=self._text(), max_tokens=self.plan.max_tokens, temperature=0,
                extra_body=more,
            )  # fmt: skip
        except openai.APIStatusError as error:
            took_s = time.perf_counter() - began_s
            what = {TOO_MANY: REFUSED, TIMED_OUT: LATE}.get(error.status_code, FAILED)
            told = "retry-after" in error.response.headers
            self._tell(ClientReport(caller.user, what, took_s, estimate=told, note=str(error)[:200]))
            return
        except openai.APIError as error:
            self._tell(
                ClientReport(caller.user, FAILED, time.perf_counter() - began_s, note=str(error)[:200])
            )
            return
        took_s = time.perf_counter() - began_s
        in_time = caller.deadline_s is None or took_s <= caller.deadline_s
        self._tell(ClientReport(caller.user, IN_TIME if in_time else LATE, took_s))

    async def _sql(self, caller: GatewayUser) -> None:
        try:
            con = await asyncpg.connect(
                host="127.0.0.1", port=self.plan.port, user=caller.user, password=caller.password,
                database=self.plan.database, ssl=False, timeout=TIMEOUT_S,
            )  # fmt: skip
        except FAULTS as error:
            self._tell(ClientReport(caller.user, FAILED, 0.0, note=f"{type(error).__name__}: {error}"))
            return
        try:
            due_s = time.perf_counter()
            while not self._is_over:
                if caller.every_s:
                    due_s += self._random.expovariate(1 / caller.every_s)
                    await asyncio.sleep(max(min(due_s, self._end_s) - time.perf_counter(), 0.0))
                    if self._is_over:
                        break
                await self._ask(con, caller)
        finally:
            await con.close(timeout=TIMEOUT_S)

    async def _ask(self, con: asyncpg.Connection, caller: GatewayUser) -> None:
        texts = ", ".join("('" + self._text().replace("'", "''") + "')" for _ in range(caller.rows))
        option = "" if caller.deadline_s is None else f", deadline := '{caller.deadline_s * 1000:.0f} ms'"
        sql = (
            f"SELECT llm('Go on: {{t}}', t, max_tokens := {self.plan.max_tokens}{option}) FROM (VALUES "
            f"{texts}) v(t)"
        )
        began_s = time.perf_counter()
        try:
            rows = await con.fetch(sql, timeout=TIMEOUT_S)
            took_s = time.perf_counter() - began_s
            num_missing = sum(row[0] is None for row in rows)
            lost = await con.fetch(ERRORS) if num_missing else []
        except FAULTS as error:
            took_s = time.perf_counter() - began_s
            self._tell(ClientReport(caller.user, FAILED, took_s, caller.rows, note=str(error)[:200]))
            return
        in_time = caller.deadline_s is None or took_s <= caller.deadline_s
        if num_right := len(rows) - num_missing:
            self._tell(ClientReport(caller.user, IN_TIME if in_time else LATE, took_s, num_right))
        for kind, message, num_rows in lost:
            what = FAILED if kind != "deadline" else LATE if message.startswith(PASSED) else REFUSED
            self._tell(ClientReport(caller.user, what, took_s, num_rows, "about" in message, message[:200]))


ERRORS = (
    "SELECT kind, message, sum(rows)::INTEGER FROM llm_errors() "
    "WHERE statement = (SELECT max(statement) FROM llm_errors()) GROUP BY ALL"
)


def main() -> None:
    """See above."""
    plan = GatewayPlan.read(Path(sys.argv[1]))
    if plan.core is not None:
        os.sched_setaffinity(0, {plan.core})
    clients = GatewayClients(plan)
    asyncio.run(clients.run())
    print(json.dumps(clients.told))


if __name__ == "__main__":
    main()
