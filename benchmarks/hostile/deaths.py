"""kill -9 of a client, of the engine and of the server, each in the middle of its work."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import duckdb
import psutil
import psycopg

from benchmarks.hostile.house import PASSWORD, AttackedServer
from benchmarks.hostile.outcome import PATIENCE_S, HostileOutcome

LONG = "SELECT llm('Say {}', range || ' of them') FROM range(200000)"
ENGINE_S = 180.0  # to start anew, on a slow machine


def client(house: AttackedServer) -> HostileOutcome:
    """Clients die while llm queries of theirs run: the server ends what they asked."""
    outcome = HostileOutcome("kill -9 of a client", 3)
    for _ in range(outcome.cases):
        program = (
            f"import psycopg; psycopg.connect(host='127.0.0.1', port={house.port}, user='mallory', "
            f"dbname='shop', password={PASSWORD!r}, sslmode='require').execute({LONG!r})"
        )
        process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
        if not _until(lambda: _running(house) > 0):
            outcome.tell("hung", "the query did not begin")
        process.kill()
        process.wait()
        if not _until(lambda: _running(house) == 0):
            outcome.tell("hung", "the query of a dead client goes on")
    return outcome


def server(house: AttackedServer, times: int, seed: int) -> HostileOutcome:
    """The server dies while rows are written: all that was committed is there again, and nothing else."""
    outcome, rng = HostileOutcome("kill -9 of the server", times), random.Random(seed)
    with house.connect("root") as con:
        con.execute("CREATE TABLE written (client INT, number INT)")
    committed: list[int] = [0] * 3
    for _ in range(times):
        with _writers(house, committed):
            time.sleep(rng.uniform(0.5, 2))
            house.kill()
        with contextlib.closing(duckdb.connect(house.database)) as file:
            rows = file.execute("SELECT client, count(*), max(number) FROM written GROUP BY ALL").fetchall()
        there = {number: (count, last) for number, count, last in rows}
        for number, told in enumerate(committed):
            count, last = there.get(number, (0, 0))
            if not told <= last <= told + 1 or count != last:  # the answer to the last one may not have come
                outcome.tell("leaked", f"client {number} was told {told}, and finds {count} rows to {last}")
            committed[number] = last
        house.start()
        with house.connect("ann") as con:
            con.execute("SELECT 1")
    return outcome


@contextlib.contextmanager
def _writers(house: AttackedServer, committed: list[int]) -> Iterator[None]:
    """Clients that write row after row, and one in a long transaction that it never commits."""

    def write(number: int) -> None:
        with contextlib.suppress(psycopg.Error), house.connect("ann") as con:
            while True:
                con.execute(f"INSERT INTO written VALUES ({number}, {committed[number] + 1})".encode())
                committed[number] += 1

    def never_commit() -> None:
        with contextlib.suppress(psycopg.Error), house.connect("ann") as con:
            con.execute("BEGIN")
            while True:
                con.execute("INSERT INTO written SELECT 99, range FROM range(1000)")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(committed))]
    threads.append(threading.Thread(target=never_commit))
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(PATIENCE_S)


def engine(house: AttackedServer) -> HostileOutcome:
    """The engine dies in the middle of a query: that ends or goes on after a restart; the next one works."""
    outcome = HostileOutcome("kill -9 of the engine", 1)
    with house.connect("ann") as con:
        con.execute("SELECT llm('warm up')")
    ended: list[str] = []

    def ask() -> None:
        try:
            with house.connect("mallory") as con:
                con.execute("SELECT llm('Say {}', range) FROM range(2000)")
            ended.append("finished")
        except psycopg.Error as error:
            ended.append(f"{error.sqlstate}: {error}")
            if error.sqlstate is None:
                outcome.tell("crashed", f"the session: {error}")

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(2)
    cores = _engine_cores(house)
    for core in cores:
        core.kill()
    thread.join(ENGINE_S)
    outcome.said.append(f"{len(cores)} process killed: {ended[0][:80] if ended else 'no end'}")
    if not cores:
        outcome.tell("crashed", "there was no engine to kill")
    if thread.is_alive():
        outcome.tell("hung", "the query never ended")
    try:
        with house.connect("ann") as con:
            if con.execute("SELECT llm('And now?') IS NOT NULL").fetchone() != (True,):
                outcome.tell("crashed", "the next query has no answer")
    except psycopg.Error as error:
        outcome.tell("crashed", f"the next query: {error}")
    return outcome


def _engine_cores(house: AttackedServer) -> list[psutil.Process]:
    """vLLM's processes of this server's shared engine; their titles overwrite their own environment."""
    found = []
    for each in psutil.process_iter(["cmdline", "environ"]):
        of_house = (each.info["environ"] or {}).get("RELSERVE_CACHE_DIR") == str(house.folder / "cache")
        if of_house and "relserve.resident" in (each.info["cmdline"] or []):
            with contextlib.suppress(psutil.Error):
                found += [core for core in each.children(recursive=True) if "EngineCore" in core.name()]
    return found


def _running(house: AttackedServer) -> int:
    """Statements of mallory's that run."""
    with house.connect("root") as con:
        row = con.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = 'mallory' AND state = 'active'"
        ).fetchone()
        assert row
        return int(row[0])


def _until(holds: Callable[[], bool]) -> bool:
    """Whether something holds within PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.2)
    return False
