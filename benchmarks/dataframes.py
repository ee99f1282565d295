"""Dataframe calls: what a row costs beside the engine, for each library, and in SQL on the same rows.

What a call takes beside the engine is the CPU time of the process (so that other work on the machine does not
count) less that of the scripted engine: the median of the one less the least of the other, as a pass of the
garbage collector over our rows may fall into the engine's time. Every row distinct, and one in ten.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

import relserve
from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine

ROOMS = ("relserve/frames", "relserve/session", "relserve/call")
HEADLINE = {
    "rows": Untold("a size"), "worst_overhead_us": Untold("one of by_library"), "aim_us": Untold("no figure"),
    "by_library": Lower(0.5, timed=True),
}  # fmt: skip

AIM_US = 20.0
MAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda rows: rows.to_pandas(),
    "pandas, objects": lambda rows: rows.to_pandas().astype({"review": object, "product": object}),
    "polars": pl.from_arrow,
    "pyarrow": lambda rows: rows,
}
CALLS = {
    "one column": ("Rate {review} from 1 to 5", "review"),
    "three columns": ("Rate {review} of {product} for {price}", "review, product, price"),
}


class TimedEngine(ScriptedEngine):
    """Counts the CPU seconds that it takes itself (not what it waits for the interpreter)."""

    seconds = 0.0

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        began = time.thread_time()
        async for replies in super().answer(submission):
            self.seconds += time.thread_time() - began
            yield replies
            began = time.thread_time()


class DataframeRun(NamedTuple):
    """Microseconds a row: wall clock; CPU time of the process and of the engine."""

    wall_us: float
    cpu_us: float
    engine_us: float


def rows_of(num_rows: int, num_distinct: int) -> pa.Table:
    """A table with NULLs in one row of fifty."""
    numbers = [i * 7919 % num_distinct for i in range(num_rows)]
    texts = [None if i % 50 == 0 else f"review number {i} of a beer" for i in numbers]
    return pa.table(
        {
            "review": pa.array(texts), "product": pa.array([f"beer {i % 100}" for i in numbers]),
            "price": pa.array([(i % 40) / 8 for i in numbers]),
            "unused": pa.array([f"{i:0200}" for i in numbers]),
        }
    )  # fmt: skip


def measure(work: Callable[[ScriptedEngine], Any], num_rows: int) -> DataframeRun:
    """One run of some work on a fresh engine."""
    engine = TimedEngine()
    began, cpu_began = time.perf_counter(), time.process_time()
    work(engine)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    assert len(engine.submissions) == 1
    return DataframeRun(*(1e6 * s / num_rows for s in (wall_s, cpu_s, engine.seconds)))


def in_library(data: Any, template: str) -> Callable[[ScriptedEngine], Any]:
    return lambda engine: relserve.llm(data, template, engine=engine, progress=False)


def in_sql(rows: pa.Table, template: str, columns: str) -> Callable[[ScriptedEngine], Any]:
    def work(engine: ScriptedEngine) -> Any:
        with relserve.connect(engine=engine, progress=False) as con:
            con.register("data", rows)
            return con.sql(f"SELECT llm('{template}', {columns}) FROM data").to_arrow_table()

    return work


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, repeats = (20_000, 3) if args.quick else (200_000, 3)
    shown, worst = [], 0.0
    details: dict[str, Any] = {}
    for share, num_distinct in (("every row distinct", num_rows), ("1 row in 10 distinct", num_rows // 10)):
        rows = rows_of(num_rows, num_distinct)
        for call, (template, columns) in CALLS.items():
            works = {name: in_library(make(rows), template) for name, make in MAKERS.items()}
            works["SQL"] = in_sql(rows, template, columns)
            for name, work in works.items():
                runs = [measure(work, num_rows) for _ in range(repeats)]
                wall_us, cpu_us = (statistics.median(run[i] for run in runs) for i in (0, 1))
                engine_us = min(run.engine_us for run in runs)
                overhead_us = cpu_us - engine_us
                figures = (wall_us, cpu_us, engine_us, overhead_us)
                shown.append([share, call, name, *(round(each, 2) for each in figures)])
                details[f"{share}, {call}, {name}"] = [run._asdict() for run in runs]
                if name != "SQL":
                    worst = max(worst, overhead_us)
    print(table(["rows", "template", "library", "wall us a row", "CPU", "engine", "overhead"], shown))
    print(f"\nBeside the engine a row costs at most {worst:.1f} us of CPU time (aim: {AIM_US:g}).")
    by_library = {name: max(row[-1] for row in shown if row[2] == name) for name in (*MAKERS, "SQL")}
    headline = {
        "rows": num_rows, "worst_overhead_us": round(worst, 2), "aim_us": AIM_US, "by_library": by_library,
    }  # fmt: skip
    finish("dataframes", headline, details, args.quick)


if __name__ == "__main__":
    main()
