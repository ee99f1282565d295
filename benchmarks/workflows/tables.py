"""The tables of `text2sql_simulated`, each printed with the paper's numbers beside where it has any."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.common import table
from benchmarks.workflows.paper import (
    BEST_ALPHA,
    D95_OVER_RR,
    D95_OVER_RR_PQ,
    D95_OVER_WB_FCFS,
    D99_OVER_RR,
    D99_OVER_RR_PQ,
    D99_OVER_WB_FCFS,
    DEADLINES_S,
    TABLE_1,
    TABLE_3,
    THROUGHPUT_OVER_RR,
)
from benchmarks.workflows.runs import (
    BALANCED,
    BALANCED_FCFS,
    LEAST,
    LEAST_BALANCED,
    OURS,
    PUBLISHED,
    PUBLISHED_BALANCED,
    SYSTEMS,
    VLLM,
    WorkflowCell,
    WorkflowRun,
    WorkflowRunResult,
)
from benchmarks.workflows.tuning import tune

Runs = dict[WorkflowRun, WorkflowRunResult]
Rows = list[list[Any]]
KEYS = {  # of systems in the last line
    VLLM: "rr_fcfs", PUBLISHED: "published", OURS: "ours", BALANCED: "balanced",
    BALANCED_FCFS: "balanced_fcfs", PUBLISHED_BALANCED: "published_balanced",
    LEAST_BALANCED: "least_balanced",
}  # fmt: skip


class Ratio(NamedTuple):
    """Mean of the cells, least and most."""

    mean: float
    least: float
    most: float

    def __str__(self) -> str:
        """As tables show it."""
        return f"{self.mean:.2f} ({self.least:.2f}-{self.most:.2f})"


class TablePart(NamedTuple):
    """A table, and what of it goes into the last line."""

    rows: Rows
    headline: dict[str, Any]


def value(run: WorkflowRunResult, what: str) -> float:
    """D95, D99 (seconds), mean latency, or queries a second."""
    if what in ("D95", "D99"):
        return run.deadline_s(int(what[1:]) / 100)
    return statistics.fmean(run.latencies_s) if what == "mean" else run.per_s


def over_seeds(runs: Runs, jobs: Sequence[WorkflowRun], what: str) -> float:
    """The mean of some runs."""
    return statistics.fmean(value(runs[job], what) for job in jobs)


def ratio_of(
    runs: Runs, above: Sequence[Sequence[WorkflowRun]], below: Sequence[Sequence[WorkflowRun]], what: str
) -> Ratio:
    """Cell by cell, runs of one system over those of another."""
    each = [over_seeds(runs, a, what) / over_seeds(runs, b, what) for a, b in zip(above, below, strict=True)]
    return Ratio(statistics.fmean(each), min(each), max(each))


def mean_ratio(
    runs: Runs,
    cells: Sequence[WorkflowCell],
    seeds: Sequence[int],
    above: str,
    below: str,
    what: str = "D95",
    cached: bool = False,
) -> Ratio:
    """One system's figure over another's in the cells."""

    def of(system: str) -> list[list[WorkflowRun]]:
        return [[WorkflowRun(cell, system, seed, cached) for seed in seeds] for cell in cells]

    return ratio_of(runs, of(above), of(below), what)


def deadlines(runs: Runs, cells: Sequence[WorkflowCell], seeds: Sequence[int]) -> Rows:
    """Figure 2: the deadlines that are met, by cell and system."""
    rows = []
    for cached in (False, True):
        print(f"Figure 2: D95 / D99 in s, prefix caching {'on' if cached else 'off'}")
        cells_rows = []
        for cell in cells:
            each = {name: [WorkflowRun(cell, name, seed, cached) for seed in seeds] for name in SYSTEMS}
            found = {n: [over_seeds(runs, jobs, what) for what in ("D95", "D99")] for n, jobs in each.items()}
            rows.append([*cell, cached, found])
            cells_rows.append([*cell, *(f"{d95:.0f}/{d99:.0f}" for d95, d99 in found.values())])
        print(table(["setup", "trace", "per s", *SYSTEMS], cells_rows))
        means = [
            [
                name,
                *(
                    str(mean_ratio(runs, cells, seeds, VLLM, name, what, cached))
                    for what in ("D95", "D99", "mean")
                ),
                str(mean_ratio(runs, cells, seeds, LEAST, name, "D95", cached)),
                str(mean_ratio(runs, cells, seeds, PUBLISHED, name, "D95", cached)),
                _cached(runs, cells, seeds, name, cached),
            ]
            for name in SYSTEMS
        ]
        print(f"\nTimes lower than {VLLM}: mean of the cells, least and most")
        columns = ["system", "D95", "D99", "mean latency", "D95 over least", "D95 over WB+PQ", "cached"]
        print(table(columns, means) + "\n")
    paper = ", ".join(f"{name} {d95}/{d99}" for name, (d95, d99) in DEADLINES_S.items())
    print(f"The paper, WB+PQ over {VLLM}: D95 {_pair(D95_OVER_RR)}, D99 {_pair(D99_OVER_RR)}")
    print(f"The paper, trace 3 at 1.0/s, s: {paper}\n")
    return rows


def _cached(
    runs: Runs, cells: Sequence[WorkflowCell], seeds: Sequence[int], name: str, cached: bool
) -> float:
    return statistics.fmean(
        runs[WorkflowRun(cell, name, seed, cached)].cached for cell in cells for seed in seeds
    )


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f} on average, up to {pair[1]:.2f}"


def throughputs(runs: Runs, cells: Sequence[WorkflowCell], seeds: Sequence[int]) -> Rows:
    """Figure 3: queries a second until the last is done, at 1.0 queries a second."""
    fast = [cell for cell in cells if cell.rate == 1.0]
    rows: Rows = []
    for name in SYSTEMS:
        found = mean_ratio(runs, fast, seeds, name, VLLM, "per_s")
        each = [over_seeds(runs, [WorkflowRun(cell, name, s) for s in seeds], "per_s") for cell in fast]
        rows.append([name, *each, str(found)])
    print("Figure 3: queries a second that are served, 1.0 a second come; last: times round robin's")
    print(table(["system", *(f"{c.setup} {c.trace}" for c in fast), "over RR+FCFS"], rows))
    print(f"The paper: {THROUGHPUT_OVER_RR[0]:.2f} to {THROUGHPUT_OVER_RR[1]:.2f}\n")
    return rows


def ablation(runs: Runs, cells: Sequence[WorkflowCell], seeds: Sequence[int]) -> Rows:
    """Figure 4: what the dispatcher brings, and what the queue."""
    pairs = [
        ("WB+PQ over RR+PQ", "RR+PQ", PUBLISHED, D95_OVER_RR_PQ, D99_OVER_RR_PQ),
        ("WB+PQ over WB+FCFS", "WB+FCFS", PUBLISHED, D95_OVER_WB_FCFS, D99_OVER_WB_FCFS),
        ("RR+PQ over RR+FCFS", VLLM, "RR+PQ", None, None),
        ("ours over ours FCFS", "ours FCFS", OURS, None, None),
    ]
    rows = []
    for label, above, below, paper_95, paper_99 in pairs:
        found = [str(mean_ratio(runs, cells, seeds, above, below, what)) for what in ("D95", "D99")]
        rows.append([label, found[0], paper_95 and _pair(paper_95), found[1], paper_99 and _pair(paper_99)])
    print("Figure 4: the dispatcher and the queue, each alone")
    print(table(["", "D95", "the paper", "D99", "the paper"], rows) + "\n")
    return rows


def budgets(runs: Runs, cells: Sequence[WorkflowCell], seeds: Sequence[int]) -> Rows:
    """What measured steps bring each system, and what ours brings over rivals that have them too."""
    pairs = [
        ("the budget: WB+PQ", PUBLISHED, PUBLISHED_BALANCED),
        ("the budget: least+FCFS", LEAST, LEAST_BALANCED),
        ("the order: ours over ours FCFS", BALANCED_FCFS, BALANCED),
        ("the dispatcher: ours FCFS over least+FCFS", LEAST_BALANCED, BALANCED_FCFS),
        ("all: ours over WB+PQ", PUBLISHED_BALANCED, BALANCED),
        ("all: ours over least+FCFS", LEAST_BALANCED, BALANCED),
    ]
    rows = [
        [label, *(str(mean_ratio(runs, cells, seeds, above, below, "D95", c)) for c in (False, True))]
        for label, above, below in pairs
    ]
    print("The measured budget: D95 times lower; below the first two, all have it")
    print(table(["", "prefix caching off", "on"], rows) + "\n")
    return rows


def alphas(jobs: Sequence[WorkflowRun], runs: Runs) -> Rows:
    """Figure 5: the published dispatcher by alpha."""
    tried = sorted({job.alpha for job in jobs if job.alpha is not None})
    rows = []
    for cell in dict.fromkeys(job.cell for job in jobs):
        each = [over_seeds(runs, [j for j in jobs if j.cell == cell and j.alpha == a], "D95") for a in tried]
        best = tried[each.index(min(each))]
        rows.append([cell.setup, cell.trace, *each, best, BEST_ALPHA[cell.setup, cell.trace]])
    print("Figure 5: D95 in s of WB+PQ by alpha, 0.5 queries/s; the best, and the paper's")
    print(table(["setup", "trace", *map(str, tried), "best", "the paper"], rows) + "\n")
    return rows


def placement(runs: Runs, cells: Sequence[WorkflowCell], seeds: Sequence[int]) -> Rows:
    """Table 1: of what each engine did, the share of each stage; Hetero-2, trace 3."""
    rows = []
    for when, name in (("before", VLLM), ("after", PUBLISHED), ("after", OURS)):
        counts: dict[str, list[int]] = {}
        for cell in [c for c in cells if c[:2] == ("Hetero-2", "trace3")]:
            for seed in seeds:
                for engine, stages in runs[WorkflowRun(cell, name, seed)].stages.items():
                    old = counts.get(engine, [0, 0, 0, 0])
                    counts[engine] = [a + b for a, b in zip(old, stages, strict=True)]
        for stage in range(4) if counts else ():
            shares = [100 * c[stage] / max(sum(c), 1) for c in counts.values()]
            paper = [f"{share:.1f}" for share in TABLE_1[when, stage + 1]]
            rows.append([stage + 1, name, *(f"{share:.1f}" for share in shares), *paper])
    names = [f"I{number}" for number in range(1, 5)]
    print("Table 1: shares of the stages in what each engine got, %; I3 is the A6000, I4 the L40")
    print(table(["stage", "system", *names, *(f"{n}, paper" for n in names)], rows) + "\n")
    return rows


def sweep(label: str, jobs: Sequence[WorkflowRun], runs: Runs, key: Callable[[WorkflowRun], float]) -> Rows:
    """WB+PQ and ours over round robin, by a number of the hardware that the paper does not give."""
    rows = []
    names = list(dict.fromkeys(job.system for job in jobs))
    cells = list(dict.fromkeys(job.cell for job in jobs))
    for number in dict.fromkeys(map(key, jobs)):
        at = [job for job in jobs if key(job) == number]
        by = {n: [[j for j in at if j.system == n and j.cell == cell] for cell in cells] for n in names}
        rows.append([
            number,
            *(str(ratio_of(runs, by[VLLM], by[name], "D95")) for name in names[1:]),
            ratio_of(runs, by[PUBLISHED], by[VLLM], "per_s").mean,
            *(str(ratio_of(runs, by[PUBLISHED], by[name], "D95")) for name in names[3:]),
        ])  # fmt: skip
    print(f"By {label}: D95 times lower than {VLLM}; throughput of WB+PQ over it; D95 over WB+PQ")
    over = [f"{name} over WB+PQ" for name in names[3:]]
    print(table([label, *names[1:], "WB+PQ throughput", *over], rows) + "\n")
    return rows


def stable_loads(jobs: Sequence[WorkflowRun], runs: Runs) -> TablePart:
    """Loads that the better systems can serve."""
    names = list(dict.fromkeys(job.system for job in jobs))
    rows: Rows = []
    headline: dict[str, Any] = {}
    for cell in dict.fromkeys(job.cell for job in jobs):
        each = {
            n: over_seeds(runs, [j for j in jobs if j.cell == cell and j.system == n], "D95") for n in names
        }
        over = {KEYS[name]: each[PUBLISHED] / each[name] for name in (OURS, BALANCED, PUBLISHED_BALANCED)}
        rows.append([cell.setup, cell.rate, *each.values(), *over.values()])
        for name, ratio in over.items():
            key = f"stable_{cell.rate}_{name}_over_published"
            headline[key] = round(min(headline.get(key, ratio), ratio), 2)
    print("Stable loads: D95 in s, trace 3 again and again; last: times lower than WB+PQ's")
    print(table(["setup", "per s", *names, OURS, BALANCED, PUBLISHED_BALANCED], rows) + "\n")
    return TablePart(rows, headline)


def tenants(jobs: Sequence[WorkflowRun], runs: Runs) -> TablePart:
    """Two tenants with unequal deadlines: the share of each that is in time."""
    names = list(dict.fromkeys(job.system for job in jobs))
    rows: Rows = []
    headline: dict[str, Any] = {}
    for cell in dict.fromkeys(job.cell for job in jobs):
        for name in names:
            each = [runs[job] for job in jobs if job.cell == cell and job.system == name]
            tight, loose = (100 * statistics.fmean(r.attained[t] for r in each) for t in ("tight", "loose"))
            rows.append([cell.setup, cell.rate, name, tight, loose])
            if name in KEYS:
                key = f"tight_percent_{KEYS[name]}"
                headline[key] = round(min(headline.get(key, tight), tight), 1)
    print("Two tenants, deadlines 2.5 and 8 times what the mean query takes alone: % in time")
    print(table(["setup", "per s", "system", "tight", "loose"], rows) + "\n")
    return TablePart(rows, headline)


def tuning_times(cells: Sequence[WorkflowCell]) -> Rows:
    """Table 3: seconds to tune alpha."""
    rows = []
    for cell in cells:
        tuned, paper = tune(cell, 1), TABLE_3[cell.setup, cell.rate]
        paper_s = paper[int(cell.trace[-1]) - 1]
        rows.append([*cell, tuned.num_queries, tuned.num_replays, tuned.alpha, paper_s, tuned.seconds])
    print("Table 3: seconds to tune alpha on the first 100 s; the paper's setups are Hetero-2 and -3")
    print(table(["setup", "trace", "per s", "queries", "replays", "alpha", "the paper", "s"], rows) + "\n")
    return rows
