"""HexGen-Text2SQL, simulated: its Figures 2 to 5 and Tables 1 and 3, with the paper's numbers, and ours.

D95 and D99 are the smallest deadlines that 95 and 99 % of the queries meet; ratios are means over the twelve
cells (two setups, traces 1 to 3, 0.5 and 1.0 queries a second) of ratios of means over the seeds. WB+PQ is as
published, its alpha 0.3; repaired: its t_queue counts what a step waits for. Ours: predicted finish, who is
due first goes first, steps of 512 tokens; balanced: steps near each engine's balance point, which the paper's
system and least requests with first come, first served have in the tables, too.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish
from benchmarks.workflows.decisions import decisions
from benchmarks.workflows.hardware import RATIO, RATIOS
from benchmarks.workflows.plot import attainment
from benchmarks.workflows.runs import (
    BALANCED,
    BALANCED_FCFS,
    CELLS,
    LEAST_BALANCED,
    OURS,
    PUBLISHED,
    PUBLISHED_BALANCED,
    SYSTEMS,
    TWO,
    VLLM,
    WorkflowCell,
    WorkflowRun,
    run,
)
from benchmarks.workflows.tables import (
    Runs,
    ablation,
    alphas,
    budgets,
    deadlines,
    mean_ratio,
    placement,
    stable_loads,
    sweep,
    tenants,
    throughputs,
    tuning_times,
)

ROOMS = ("relserve/policies/workflows", "relserve/policies/dispatch", "lab/simulator/workflows")
HEADLINE = {
    "published_mean_95": Untold("the paper's"), "published_throughput": Untold("the paper's"),
    "published_over_least_worst": Untold("the paper's"), "published_budget_brings": Untold("the paper's"),
    "least_budget_brings": Untold("least requests'"), "ours_mean_95": Higher(0.02),
    "ours_over_published": Higher(0.02), "ours_worst_over_published": Higher(0.02),
    "balanced_over_published": Higher(0.02), "balanced_order_brings": Higher(0.02),
    "balanced_over_published_balanced": Higher(0.02), "balanced_over_least_balanced": Higher(0.02),
    "ours_mean_95_cached": Higher(0.02), "ours_over_published_cached": Higher(0.02),
    "stable_0.1_ours_over_published": Higher(0.02), "stable_0.1_balanced_over_published": Higher(0.02),
    "stable_0.1_published_balanced_over_published": Untold("the paper's"),
    "stable_0.15_ours_over_published": Higher(0.02), "stable_0.15_balanced_over_published": Higher(0.02),
    "stable_0.15_published_balanced_over_published": Untold("the paper's"),
    "stable_0.2_ours_over_published": Higher(0.02), "stable_0.2_balanced_over_published": Higher(0.02),
    "stable_0.2_published_balanced_over_published": Untold("the paper's"), "tight_percent_ours": Higher(by=2),
    "tight_percent_balanced": Higher(by=2), "tight_percent_balanced_fcfs": Higher(by=2),
    "tight_percent_rr_fcfs": Untold("round robin's"), "tight_percent_published": Untold("the paper's"),
    "tight_percent_published_balanced": Untold("the paper's"),
    "tight_percent_least_balanced": Untold("least requests'"), "tuning_most_s": Untold("the paper's"),
    "dispatch_most_us": Lower(1, timed=True), "queue_most_us": Lower(1, timed=True),
}  # fmt: skip

SWEPT = (VLLM, "least+FCFS", PUBLISHED, OURS, BALANCED)
STABLE_RATES, TENANT_RATE = (0.1, 0.15, 0.2), 0.2
STABLE = tuple(name for name in SYSTEMS if name not in ("weighted RR", "WB tuned+PQ", "WB+PQ 512"))
EXPOSED = (0.5, 1.0)


@dataclass(frozen=True)
class SimulationSize:
    """How much is run: cells, seeds of cells, long runs and sweeps, ratios, queries of the long runs."""

    cells: tuple[WorkflowCell, ...] = CELLS
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    few_seeds: tuple[int, ...] = (1, 2)
    one_seed: tuple[int, ...] = (1,)
    ratios: tuple[float, ...] = RATIOS
    num_queries: int = 400
    long_setups: tuple[str, ...] = ("Hetero-1", "Hetero-2")


QUICK = SimulationSize(CELLS[4:6], (1,), (1,), (1,), (1.0, RATIO), 60, ("Hetero-1",))


def jobs_of(size: SimulationSize) -> dict[str, list[WorkflowRun]]:
    """All runs by what they are for."""
    cells, half = size.cells, [cell for cell in size.cells if cell.rate == 0.5]
    long = [WorkflowCell(setup, "trace3", rate) for setup in size.long_setups for rate in STABLE_RATES]
    shared = [cell for cell in long if cell.rate == TENANT_RATE]
    return {
        "cells": [
            WorkflowRun(c, s, n, p) for p in (False, True) for c in cells for s in SYSTEMS for n in size.seeds
        ],
        "ratios": [
            WorkflowRun(c, s, n, ratio=r)
            for r in size.ratios
            for c in cells
            for s in SWEPT
            for n in size.one_seed
        ],
        "exposed": [
            WorkflowRun(c, s, n, exposed=e)
            for e in EXPOSED
            for c in cells
            for s in SWEPT
            for n in size.one_seed
        ],
        "alphas": [
            WorkflowRun(c, PUBLISHED, n, alpha=a / 10) for a in range(6) for c in half for n in size.few_seeds
        ],
        "stable": [
            WorkflowRun(c, s, n, num_queries=size.num_queries)
            for c in long
            for s in STABLE
            for n in size.few_seeds
        ],
        "tenants": [
            WorkflowRun(c, s, n, tenants=TWO, num_queries=size.num_queries)
            for c in shared
            for s in STABLE
            for n in size.few_seeds
        ],
    }


def headline_of(runs: Runs, size: SimulationSize, long: dict[str, Any]) -> dict[str, Any]:
    """The figures of the last line; caching off where nothing else is said."""
    ratio = partial(mean_ratio, runs, size.cells, size.seeds)
    published, ours = ratio(VLLM, PUBLISHED), ratio(VLLM, OURS)
    over = ratio(PUBLISHED, OURS)
    return {
        "published_mean_95": round(published.mean, 2),
        "published_throughput": round(ratio(PUBLISHED, VLLM, what="per_s").mean, 2),
        "published_over_least_worst": round(ratio("least+FCFS", PUBLISHED).least, 2),
        "ours_mean_95": round(ours.mean, 2),
        "ours_over_published": round(over.mean, 2),
        "ours_worst_over_published": round(over.least, 2),
        "balanced_over_published": round(ratio(PUBLISHED, BALANCED).mean, 2),
        "published_budget_brings": round(ratio(PUBLISHED, PUBLISHED_BALANCED).mean, 2),
        "least_budget_brings": round(ratio("least+FCFS", LEAST_BALANCED).mean, 2),
        "balanced_order_brings": round(ratio(BALANCED_FCFS, BALANCED).mean, 2),
        "balanced_over_published_balanced": round(ratio(PUBLISHED_BALANCED, BALANCED).mean, 2),
        "balanced_over_least_balanced": round(ratio(LEAST_BALANCED, BALANCED).mean, 2),
        "ours_mean_95_cached": round(ratio(VLLM, OURS, cached=True).mean, 2),
        "ours_over_published_cached": round(ratio(PUBLISHED, OURS, cached=True).mean, 2),
        **long,
    }


def main() -> None:
    """Print every table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=0, help="seeds of the twelve cells; 0: five")
    args = parser.parse_args()
    size = QUICK if args.quick else SimulationSize()
    if args.seeds:
        size = replace(size, seeds=tuple(range(1, args.seeds + 1)))
    started, jobs = time.perf_counter(), jobs_of(size)
    runs = run(job for each in jobs.values() for job in each)
    print(f"{len(runs)} runs, {time.perf_counter() - started:.0f} s\n")
    details: dict[str, Any] = {"size": asdict(size)}
    details["deadlines"] = deadlines(runs, size.cells, size.seeds)
    details["throughput"] = throughputs(runs, size.cells, size.seeds)
    details["ablation"] = ablation(runs, size.cells, size.seeds)
    details["budgets"] = budgets(runs, size.cells, size.seeds)
    details["alphas"] = alphas(jobs["alphas"], runs)
    details["placement"] = placement(runs, size.cells, size.seeds)
    details["ratios"] = sweep("slow/A100 prefill", jobs["ratios"], runs, lambda job: job.ratio)
    details["exposed"] = sweep("reading not hidden", jobs["exposed"], runs, lambda job: job.exposed)
    stable = stable_loads(jobs["stable"], runs)
    shared = tenants(jobs["tenants"], runs)
    details |= {"stable": stable.rows, "tenants": shared.rows, "tuning": tuning_times(size.cells)}
    made = details["decisions"] = decisions(500 if args.quick else 10_000)
    slowest = round(max(row[-1] for row in details["tuning"]), 2)
    long = {**stable.headline, **shared.headline, "tuning_most_s": slowest}
    for kind in ("dispatch", "queue"):
        long[f"{kind}_most_us"] = round(max(row[2] for row in made if row[1] == kind), 1)
    headline = headline_of(runs, size, long)
    finish("text2sql_simulated", headline, details, args.quick, partial(plot, runs, size))


def plot(runs: Runs, size: SimulationSize, path: Path) -> None:
    """Figure 2."""
    attainment(runs, size.cells, size.seeds, (VLLM, "least+FCFS", PUBLISHED, OURS), path)


if __name__ == "__main__":
    main()
