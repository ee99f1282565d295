"""A 5-row query from a second connection while a 5,000-row query runs, all through SQL, on one local engine.

The same is done on an engine with vLLM's own order (FCFS) and on one with relserve's order and its guard, in
one invocation.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.beer import classify_call, create_beer_table
from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.api import Connection, connect
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.policies.scheduling.variants import DEFAULT
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import SchedulerSettings

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/engines/local", "relserve/vllm_plugin",
    "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "fcfs_small_s": Untold("stock's"), "ours_small_s": Untold("of times_sooner"), "times_sooner": Higher(0.6),
    "big_slower_by": Lower(by=0.3),
}  # fmt: skip

HEAD_START_S = 2.0
FCFS, OURS = "stock FCFS", f"{DEFAULT} guarded"
VARIANTS = {FCFS: "stock", OURS: DEFAULT}


class TwoConnections:
    """One engine, and two connections on it."""

    def __init__(self, variant: str) -> None:
        settings = {"relserve": {"variant": variant, "patience": SchedulerSettings().patience}}
        self.engine = LocalEngine("tiny", str(MODEL_DIR), engine_args={"additional_config": settings})
        self.big, self.small = (connect(engine=self.engine, progress=False) for _ in range(2))
        for con in (self.big, self.small):
            create_beer_table(con)
        self.small.execute("SELECT llm('warm up')").fetchall()

    def run(
        self, big: str, small: str, head_start_s: float = HEAD_START_S
    ) -> tuple[float, float, list[tuple[Any, ...]]]:
        """Seconds of the small query, which comes so much later, and of the big; the answers to the first.

        Raises:
            RuntimeError: the big one had ended by then.
        """
        spawn(self.engine.reset_prefix_cache()).result()
        big_s: list[float] = []
        thread = threading.Thread(target=lambda: big_s.append(timed(self.big, big)[0]))
        thread.start()
        time.sleep(head_start_s)
        if not thread.is_alive():
            raise RuntimeError("the big query ended before the small one began; give it more rows")
        small_s, answers = timed(self.small, small)
        thread.join()
        return small_s, big_s[0], sorted(answers)

    def close(self) -> None:
        """End connections and engine."""
        self.big.close()
        self.small.close()
        spawn(self.engine.close()).result()


def big_query(num_rows: int) -> str:
    """Classify the first reviews."""
    return f"SELECT id, {classify_call()} FROM beer WHERE id <= {num_rows}"


def small_query(num_rows: int) -> str:
    """Rate the last reviews."""
    call = "llm_score('Rate the beer from 1 to 5: {review}', review)"
    return f"SELECT id, {call} FROM beer WHERE id > {10_000 - num_rows}"


def timed(con: Connection, query: str) -> tuple[float, list[tuple[Any, ...]]]:
    """Seconds and rows of a query."""
    started = time.perf_counter()
    rows = con.execute(query).fetchall()
    return time.perf_counter() - started, rows


def medians(runs: list[list[Any]], column: int, names: Iterable[str] = VARIANTS) -> dict[str, float]:
    """The median of one column of the table for each scheduler."""
    return {name: statistics.median(run[column] for run in runs if run[0] == name) for name in names}


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, num_small, repeats = (2_000, 5, 1) if args.quick else (5_000, 5, 3)
    runs: list[list[Any]] = []
    expected: list[tuple[Any, ...]] | None = None
    for name, variant in VARIANTS.items():
        side = TwoConnections(variant)
        for repeat in range(repeats):
            small_s, big_s, answers = side.run(big_query(num_rows), small_query(num_small))
            assert expected in (None, answers), "the engines answer differently"
            expected = answers
            runs.append([name, repeat, small_s, big_s])
        side.close()
    print(table(["scheduler", "run", f"{num_small}-row query, s", f"{num_rows}-row query, s"], runs))
    small, big = medians(runs, 2), medians(runs, 3)
    headline = {
        "fcfs_small_s": round(small[FCFS], 3), "ours_small_s": round(small[OURS], 3),
        "times_sooner": round(small[FCFS] / small[OURS], 1),
        "big_slower_by": round(big[OURS] / big[FCFS] - 1, 3),
    }  # fmt: skip
    finish("second_connection", headline, runs, args.quick)


if __name__ == "__main__":
    main()
