"""The largest relQuery under a stream of small ones: with and without the guards, on a real engine.

A relQuery of 100 rows comes first but for a few; then small ones of 1 to 8 rows come as a Poisson process at
the given share of capacity, measured in the same invocation. For every threshold the largest's latency stands
beside its bound: patience times its measured FCFS latency and a second; or the threshold's wait and its
latency on an engine of its own, twice over (what was admitted before it runs on beside it). The stream is so
long that without a guard the largest misses the default's bound.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.plots import bars
from benchmarks.relquery_engines import EngineWorker
from benchmarks.relquery_workload import encoder, relqueries
from lab.simulator.workload import RelSpec, poisson_arrivals, retimed
from relserve.policies.scheduling.variants import DEFAULT
from relserve.vllm_plugin.settings import SchedulerSettings

ROOMS = ("relserve/policies/scheduling", "relserve/vllm_plugin")
HEADLINE = {
    "without_guard_s": Untold("what the guard is for"), "stream_s": Untold("a size"),
    "within_bound": Exact([True]), "default_largest_s": Lower(0.8, timed=True),
    "default_bound_s": Untold("of first come, first served"),
}  # fmt: skip

THRESHOLDS_S = (0.02, 0.05, 0.1)  # Eq. 13, seconds of waiting per row
PATIENCE = (0.5, 1.0, SchedulerSettings().patience)  # ours, in latencies that FCFS would give
LARGE = "large"
SPARED_S = 1.0  # that our guard grants itself
COLUMNS = (
    "Eq. 13, s a row", "patience", "largest_s", "bound_s", "mean_s", "max_s", "alone_s", "fcfs_s", "stream_s"
)  # fmt: skip


def workload(num_small: int, seed: int) -> tuple[RelSpec, list[RelSpec]]:
    """The large relQuery, and small ones that all come at time 0."""
    encode = encoder()
    large = relqueries(1, 1, 1.0, seed, encode, num_rows=100, kind="summarize")[0]
    small = relqueries(num_small, 8, 1.0, seed + 1000, encode)
    return replace(large, rel_id=LARGE, arrival_s=0.2), retimed(small, [0.0] * num_small)


def settings_of(quick: bool) -> list[dict[str, float]]:
    """The guards that are compared; none comes first."""
    guards: list[dict[str, float]] = [
        *({"patience": 0.0, "starvation_s": s} for s in THRESHOLDS_S),
        *({"patience": p} for p in PATIENCE),
    ]
    return [{"patience": 0.0}, *(guards[-1:] if quick else guards)]


def measure(
    stock: EngineWorker,
    workers: list[EngineWorker],
    settings: list[dict[str, float]],
    num_small: int,
    load: float,
    seed: int,
) -> list[list[Any]]:
    """One seed: a row of COLUMNS' figures for each worker, on the same arrivals."""
    large, small = workload(num_small, seed)
    stock.serve(small)  # warm
    capacity = num_small / stock.serve(small)["makespan_s"]
    alone_s = stock.serve([large])["rels"][LARGE][1]
    arrivals = poisson_arrivals(load * capacity, num_small, random.Random(seed))
    trace = [large, *retimed(small, arrivals)]
    fcfs_s = stock.serve(trace)["rels"][LARGE][1]
    rows = []
    for worker, one in zip(workers, settings, strict=True):
        rels = worker.serve(trace)["rels"]
        latency = [r[1] for r in rels.values()]
        waits_s = one.get("starvation_s", 0.0) * len(large.rows)
        bound_s = waits_s + 2 * alone_s if waits_s else None
        if not waits_s and one["patience"]:
            bound_s = one["patience"] * fcfs_s + SPARED_S
        figures = [rels[LARGE][1], bound_s, statistics.mean(latency), max(latency)]
        rows.append([*figures, alone_s, fcfs_s, arrivals[-1]])
    return rows


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--load", type=float, default=1.0, help="of the small ones alone, as a share of capacity"
    )
    args = parser.parse_args()
    num_small, seeds = (100, [1]) if args.quick else (400, [1, 2, 3])
    settings = settings_of(args.quick)
    stock, workers = EngineWorker("vllm"), [EngineWorker(DEFAULT, one) for one in settings]
    runs = [measure(stock, workers, settings, num_small, args.load, seed) for seed in seeds]
    for worker in (stock, *workers):
        worker.quit()
    rows = []
    for i, one in enumerate(settings):
        columns = zip(*(run[i] for run in runs), strict=True)
        medians = [None if c[0] is None else statistics.median(c) for c in columns]
        rows.append([one.get("starvation_s", 0.0), one["patience"], *medians])
    print(table(COLUMNS, rows))
    default = next(r for r in rows if r[1] == SchedulerSettings().patience)
    headline = {
        "without_guard_s": round(rows[0][2], 2), "stream_s": round(rows[0][-1], 2),
        "within_bound": [all(run[i][0] <= run[i][1] for run in runs) for i in range(1, len(settings))],
        "default_largest_s": round(default[2], 2), "default_bound_s": round(default[3], 2),
    }  # fmt: skip
    details = {"columns": COLUMNS, "medians": rows, "runs": runs}
    finish("starvation", headline, details, args.quick, partial(plot, rows))


def plot(rows: list[list[Any]], path: Path) -> None:
    """The largest relQuery's latency under each guard, with its bound as a tick."""
    names = [guard_name(row[0], row[1]) for row in rows]
    largest_s = {name: row[2] for name, row in zip(names, rows, strict=True)}
    bounds_s = {name: row[3] for name, row in zip(names, rows, strict=True) if row[3] is not None}
    bars(path, largest_s, "latency of the largest relQuery, s (tick: its bound)", bounds_s)


def guard_name(starvation_s: float, patience: float) -> str:
    """A guard in the words of the plot."""
    if starvation_s:
        return f"Eq. 13, {starvation_s:g} s a row"
    return f"patience {patience:g}" if patience else "no guard"


if __name__ == "__main__":
    main()
