"""What benchmarks.resume kills: a query on a real engine, in a process that says what it asks and what comes.

Arguments: what to do in order (query, again, undisturbed, engine-killed, disk-BYTES) and the number of rows.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from benchmarks.beer import classify_call, create_beer_table
from relserve.api import Connection, connect, find_engine
from relserve.call.relquery import Reply, Submission
from relserve.engines.protocol import Engine
from relserve.errors import EngineDeadError
from relserve.session.session import Session

ROWS = 5_000


class Telling:
    """The real engine, which tells what it was asked and what came; and is killed where that is wanted."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.model = engine, engine.model
        self.kill_after: list[int] = []  # numbers of answers after which the engine's process is killed
        self.killed: int | None = None
        self.engines: list[int] = []

    async def fingerprint(self) -> str | None:
        return await self.engine.fingerprint()  # type: ignore[no-any-return]

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        came = 0
        self.note_engine()
        say(asked=len(submission.prompts))
        async for replies in self.engine.answer(submission):
            yield replies
            came += len(replies)
            say(answered=came)
            self.note_engine()
            if self.kill_after and came >= self.kill_after[0] and self.engine.pid not in (None, self.killed):
                self.kill_after.pop(0)
                self.killed = self.engine.pid
                os.kill(self.killed, signal.SIGKILL)

    async def close(self) -> None:
        await self.engine.close()

    def note_engine(self) -> None:
        """Tell of an engine process that is new."""
        if self.engine.pid not in (None, *self.engines):
            self.engines.append(self.engine.pid)
            say(engines=self.engines)


def say(**event: Any) -> None:
    """One line of JSON, out at once, so that it survives this process."""
    print(json.dumps(event), flush=True)


def query(con: Connection, rows: int) -> list[Any]:
    """The query's result."""
    return con.execute(f"SELECT id, {classify_call()} FROM beer WHERE id <= {rows} ORDER BY id").fetchall()


def opened(engine: Engine, cache: bool) -> Connection:
    """A connection with the beer table."""
    con = connect(engine=engine, progress=False, cache=cache)
    create_beer_table(con)
    return con


def last_record(session: Session) -> dict[str, int]:
    """How many prompts the last query had, and how many of them were done."""
    record = session.history.queries()[-1]
    came = record.num_done - record.num_cached
    return {"distinct": record.num_distinct, "cached": record.num_cached, "came": came}


def main() -> None:
    """Do what is wanted."""
    steps, rows = sys.argv[1].split(","), int(sys.argv[2])
    os.environ["RELSERVE_ANSWER_CACHE_MB"] = "1024"  # benchmarks.common switches the cache off
    engine = Telling(find_engine("tiny"))
    opened(engine.engine, cache=False).execute("SELECT llm('warm up')").fetchall()
    con = opened(engine, cache=True)
    result: list[Any] = []
    rounds: list[dict[str, Any]] = []
    rng = random.Random(7)
    for step in steps:
        if step.startswith("disk-"):
            limit = int(step.removeprefix("disk-"))  # from here on, and not for the engine's process
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        elif step == "engine-killed":
            # twice in one run, which ends it; all rounds together leave some rows for the last run
            engine.kill_after = sorted(rng.sample(range(rows // 50, rows // 6), 2))
            error = "none"
            try:
                query(con, rows)
            except EngineDeadError as death:
                error = type(death).__name__
            rounds.append({"error": error, **last_record(con.session)})
            say(rounds=rounds)
        elif step == "query":
            result = query(con, rows)
            found = last_record(con.session)
            say(distinct=found["distinct"], all_came=found["came"], all_cached=found["cached"])
        elif step == "again":
            began = time.monotonic()
            query(con, rows)
            say(all_kept_s=time.monotonic() - began)
        elif step == "undisturbed":
            say(right=result == query(opened(engine.engine, cache=False), rows))
    con.close()


if __name__ == "__main__":
    main()
