"""50 clients on one SQL server for 5 minutes, beside a 5,000-row llm query: answers, latencies and memory.

The clients are asyncpg's, in a process of their own; each waits half a second on average between statements,
and now and then hangs up and comes again. They ask SELECT 1, look up rows, page, group, and put llm functions
to 5 and 10 rows; one more client has 5,000 reviews classified, again and again. Every answer is compared: of
llm functions with those that an engine in this process gave before. The same on an engine with vLLM's own
order (stock FCFS) for a fifth of the time. Server, engine and clients share this machine's cores; "clients
late" is how much later than asked the clients' own process wakes up, which is part of every latency.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from benchmarks.beer import create_beer_table
from benchmarks.claims import Exact, Higher, Lower
from benchmarks.common import arguments, finish, table
from benchmarks.provenance import ROOT
from benchmarks.server_clients import BIG, LATE, READY, ClientStatement, SqlClientsPlan
from benchmarks.server_questions import FILTER, GROUP, LOOK_UP, PAGE, RATE, SELECT_1, questions_of
from benchmarks.sql_server import ResidentMemory, SqlServer
from benchmarks.start_up import VARIANTS, place_of_its_own
from relserve.api import connect
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.tiny import MODEL_DIR

ROOMS = (
    "relserve/server", "relserve/resident", "relserve/engines/shared", "relserve/vllm_plugin",
    "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "wrong": Exact(0), "dropped": Exact(0), "select1_p99_ms": Lower(2, timed=True), "sooner": Higher(0.7),
}  # fmt: skip

FCFS, OURS = VARIANTS
SHARES = {SELECT_1: 30, LOOK_UP: 30, PAGE: 15, GROUP: 15, RATE: 4, FILTER: 2}
DTYPE = {"dtype": "float32"}  # so that answers do not depend on what else is asked
THINK_S = 0.5
CLIENTS = 50
QUIET = {"seconds": 3.0, "clients": 1, "think_s": 0.001}
COLUMNS = ("scheduler", "statement", "number", "wrong", "dropped", "p50, ms", "p99, ms", "most, ms")


class ServerLoadSizes(NamedTuple):
    """How much is asked."""

    seconds: float
    stock_seconds: float
    big_rows: int


class LoadedServer(NamedTuple):
    """One server: what its clients saw under load and with nobody else there, and its memory."""

    told: list[Any]
    quiet: list[Any]
    memory: list[tuple[float, int]]
    length_s: float  # of the load; answers that were under way then came later

    def seconds(self, kind: str) -> np.ndarray:
        """What right answers of a kind took under load."""
        return np.array([took for each, _, took, fault in self.told if each == kind and not fault])

    def faults(self, word: str, kind: str | None = None) -> int:
        """How many statements were 'wrong', or 'dropped'."""
        return sum(fault.startswith(word) for each, _, _, fault in self.told if kind in (None, each))

    def share_of_memory(self, fifth: int) -> float:
        """Megabytes on average in a fifth of the time: of 5 minutes, in a minute."""
        part_s = self.length_s / 5
        return statistics.fmean(size for at, size in self.memory if fifth - 1 <= at / part_s <= fifth) / 1e6


def measure(
    variant: str, seconds: float, database: Path, questions: dict[str, list[ClientStatement]]
) -> LoadedServer:
    """Start a server and an engine, and have its clients come."""
    settings = {**DTYPE, "additional_config": {"relserve": {"variant": variant}}}
    with (
        place_of_its_own(RELSERVE_ENGINE="shared", RELSERVE_ENGINE_ARGS=json.dumps(settings)) as environ,
        SqlServer(database, environ, ("--model", "tiny")) as server,
    ):
        few = {SELECT_1: questions[SELECT_1]}
        common = {"port": server.port, "database": database.stem}
        warm_up = {**QUIET, "shares": {RATE: 1}, "questions": {RATE: questions[RATE][:1]}}
        ask(SqlClientsPlan(**common, **warm_up))
        quiet = ask(SqlClientsPlan(**common, **QUIET, shares={SELECT_1: 1}, questions=few))
        with ResidentMemory(server.pid) as memory:
            plan = SqlClientsPlan(
                **common,
                seconds=seconds,
                clients=CLIENTS,
                think_s=THINK_S,
                shares=SHARES,
                questions=questions,
            )
            told = ask(plan)
    return LoadedServer(told, quiet, memory.noted, seconds)


def ask(plan: SqlClientsPlan) -> list[Any]:
    """What clients in a process of their own were told."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        plan.write(Path(file.name))
        command = [sys.executable, "-m", "benchmarks.server_clients", file.name]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    told: list[Any] = json.loads(done.stdout)
    return told


def rows_of(name: str, side: LoadedServer) -> list[list[Any]]:
    """Lines of the table."""
    lines = []
    for kind in (*SHARES, BIG, READY, LATE):
        took_ms = 1e3 * side.seconds(kind)
        number = sum(each == kind for each, *_ in side.told)
        numbers = np.percentile(took_ms, [50, 99, 100]).tolist() if len(took_ms) else [None] * 3
        lines.append([name, kind, number, side.faults("wrong", kind), side.faults("dropped", kind), *numbers])
    return lines


def in_process_ms() -> tuple[float, float]:
    """Medians of SELECT 1 through a connection of relserve's in this process, and of plain DuckDB."""
    with connect(model="scripted", progress=False) as ours, duckdb.connect() as plain:
        return median_ms(lambda: ours.execute("SELECT 1").fetchall()), median_ms(
            lambda: plain.execute("SELECT 1").fetchall()
        )


def median_ms(act: Callable[[], object], times: int = 2_000) -> float:
    """The median of how long something takes."""
    took = []
    for _ in range(times):
        began_s = time.perf_counter()
        act()
        took.append(time.perf_counter() - began_s)
    return 1e3 * statistics.median(took)


def quiet_ms(side: LoadedServer, kind: str) -> float:
    """The median of what a kind took with nobody else there."""
    return 1e3 * statistics.median(took for each, _, took, _ in side.quiet if each == kind)


def draw(path: Path, sides: dict[str, LoadedServer]) -> None:
    """Each answer's latency over time on both engines, and the server's memory."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4), width_ratios=(3, 2, 2))
    for axis, (name, side) in zip(axes, ((OURS, sides[OURS]), (FCFS, sides[FCFS])), strict=False):
        for kind, colour in ((SELECT_1, "tab:blue"), (RATE, "tab:orange"), (BIG, "tab:red")):
            points = [(at, took) for each, at, took, _ in side.told if each == kind]
            axis.scatter(*zip(*points, strict=True), s=5, color=colour, label=kind, alpha=0.6)
        axis.set(yscale="log", ylim=(2e-4, 200), xlabel="s", ylabel="s to the last row", title=name)
    axes[0].legend(loc="upper right", markerscale=3)
    at_s, sizes = zip(*sides[OURS].memory, strict=True)
    axes[2].plot(at_s, [size / 1e6 for size in sizes])
    axes[2].set(xlabel="s", ylabel="resident memory of the server, MB", title=OURS, ylim=(0, None))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def summary(sides: dict[str, LoadedServer]) -> list[list[Any]]:
    """What is measured beside latencies under load."""
    ours = sides[OURS]
    through_ms, plain_ms = in_process_ms()
    return [
        ["new client ready, nobody else there, ms", quiet_ms(ours, READY)],
        ["SELECT 1 over the socket, nobody else there, ms", quiet_ms(ours, SELECT_1)],
        ["SELECT 1 through relserve.connect in this process, ms", through_ms],
        ["SELECT 1 in plain DuckDB, ms", plain_ms],
        ["memory in the second fifth, MB", ours.share_of_memory(2)],
        ["memory in the last fifth, MB", ours.share_of_memory(5)],
        ["the last fifth over the second", ours.share_of_memory(5) / ours.share_of_memory(2)],
    ]  # fmt: skip


def complain(sides: dict[str, LoadedServer]) -> None:
    """Show what was wrong, the first few."""
    faults: Sequence[str] = [fault for side in sides.values() for *_, fault in side.told if fault]
    for fault in faults[:5]:
        sys.stderr.write(f"{fault}\n")


def main() -> None:
    """Print the tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    sizes = ServerLoadSizes(6, 4, 500) if args.quick else ServerLoadSizes(300, 60, 5_000)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "bench.duckdb"
        engine = LocalEngine("tiny", str(MODEL_DIR), engine_args=DTYPE)
        with connect(str(database), engine=engine, progress=False) as con:
            create_beer_table(con)
            questions = questions_of(con, sizes.big_rows)
        spawn(engine.close()).result()
        sides = {
            name: measure(VARIANTS[name], seconds, database, questions)
            for name, seconds in ((OURS, sizes.seconds), (FCFS, sizes.stock_seconds))
        }
    lines = [line for name, side in sides.items() for line in rows_of(name, side)]
    others = summary(sides)
    print(table(COLUMNS, lines), "\n")
    print(table(("what", "value"), others))
    complain(sides)
    small_s = {name: float(np.median(side.seconds(RATE))) for name, side in sides.items()}
    headline = {
        "wrong": sum(side.faults("wrong") for side in sides.values()),
        "dropped": sum(side.faults("dropped") for side in sides.values()),
        "select1_p99_ms": round(1e3 * float(np.percentile(sides[OURS].seconds(SELECT_1), 99)), 1),
        "sooner": round(small_s[FCFS] / small_s[OURS], 1),
    }
    details = {
        "load": [dict(zip(COLUMNS, line, strict=True)) for line in lines], "others": dict(others),
        "memory": {name: side.memory for name, side in sides.items()},
    }  # fmt: skip
    finish("server_load", headline, details, args.quick, lambda path: draw(path, sides))


if __name__ == "__main__":
    main()
