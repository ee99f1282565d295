"""What a caching policy's decision costs a step, by the number of requests that it decides on.

As many requests as are named are unfinished all the time, in memory that holds a third of them as keys and
values. At each step the policy plans, what it planned is done to the table of requests, those that ran have
one more token, and those that end are followed by new ones. The time of a plan is that of `plan(view)`, as a
scheduler calls it, in CPU seconds; the upkeep of the table is told apart. Lengths are made up: prompts of 16
to 800 tokens, outputs of 16 to 400.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.policies.caching.requests import RequestColumns, RequestState
from relserve.policies.caching.state import BatchLimits, BlockMemory, CachePlan, CacheView
from relserve.policies.caching.variants import make
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel

ROOMS = ("relserve/policies/caching", "relserve/policies/model")
HEADLINE = {
    "candidates": Untold("a size"), "plan_ms": Lower(0.5, timed=True), "most_ms": Untold("one of plan_ms"),
    "over_n_log_n": Lower(0.5),
}  # fmt: skip

VARIANTS = ("fcfs", "apt-kv", "apt", "apt-s", "ours")
SIZES = (100, 200, 400, 800, 1600, 3200, 6400, 12_800)
PAPER_MS = {100: 0.5, 200: 1.0, 400: 2.1, 800: 4.8, 1600: 10.8}  # Table 6
COSTS = CacheCosts(CostModel(1.4e-4, 3e-3, 3e-5, 2.2e-2), 6e-7, 7e-7)
STEP_S, SLO_S = 0.05, 5.0
WARM_UP_STEPS = 20


class PlanTime(NamedTuple):
    """Milliseconds a step of one variant with one number of requests."""

    variant: str
    candidates: int
    plan_ms: float
    plan_p99_ms: float
    upkeep_ms: float
    running: float


class SteadyLoad:
    """As many unfinished requests as are wanted, at any time."""

    def __init__(self, count: int, seed: int) -> None:
        self.generator, self.table, self.number = np.random.default_rng(seed), RequestColumns(), 0
        self.memory = BlockMemory(count // 3 * 38, 16, 32)
        self.limits = BatchLimits(count, 2048 + count)
        for _ in range(count):
            self.one_more(-float(self.generator.uniform(0.0, 10.0)))

    def one_more(self, arrival_s: float) -> None:
        """A request comes."""
        prompt, output = (int(self.generator.integers(16, most)) for most in (800, 400))
        self.table.put(
            RequestState(
                f"r{self.number}", arrival_s, prompt, prompt,
                ttft_slo_s=SLO_S, tpot_slo_s=SLO_S, expected_left=float(output),
            )
        )  # fmt: skip
        self.number += 1

    def do(self, plan: CachePlan, now_s: float) -> None:
        """A step as planned: all that runs computes all that it has to, and those that end are replaced."""
        requests = self.table
        for request_id in plan.drop:
            requests.hold(request_id, None, 0)
        for request_id, cache in plan.run:
            if requests.holds[requests.row(request_id)] < 0:
                requests.hold(request_id, cache, 0)
        requests.answered([request_id for request_id, _ in plan.run], now_s)
        for row in np.flatnonzero(requests.expected_left <= 0)[::-1].tolist():
            requests.remove(requests.ids[row])
            self.one_more(now_s)


def measure(variant: str, count: int, num_steps: int) -> PlanTime:
    """Medians over the steps, and the 99th percentile."""
    load, policy = SteadyLoad(count, seed=count), make(variant)
    planned, kept, running = list[float](), list[float](), list[int]()
    for step in range(WARM_UP_STEPS + num_steps):
        now_s = STEP_S * step
        began = time.thread_time()
        plan = policy.plan(CacheView(now_s, load.table, load.memory, load.limits, COSTS))
        ended = time.thread_time()
        load.do(plan, now_s + STEP_S)
        planned.append(1e3 * (ended - began))
        kept.append(1e3 * (time.thread_time() - ended))
        running.append(len(plan.run))
    planned, kept = planned[WARM_UP_STEPS:], kept[WARM_UP_STEPS:]
    p99 = statistics.quantiles(planned, n=100)[98]
    return PlanTime(
        variant, count, statistics.median(planned), p99, statistics.median(kept), statistics.mean(running)
    )


def over_n_log_n(measured: Sequence[PlanTime], variant: str) -> float:
    """How many times as much the largest size takes as the smallest, over what n log n would grow by."""
    few, *_, many = [each for each in measured if each.variant == variant]
    grows = many.candidates * math.log(many.candidates) / (few.candidates * math.log(few.candidates))
    return many.plan_ms / few.plan_ms / grows


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    sizes, num_steps = (SIZES[::2], 60) if args.quick else (SIZES, 300)
    gc.freeze()
    measured = [measure(variant, count, num_steps) for variant in VARIANTS for count in sizes]
    rows = [[*each, PAPER_MS.get(each.candidates)] for each in measured]
    columns = [*PlanTime._fields, "paper_ms"]
    print(table(columns, rows))
    near = 1600 if 1600 in sizes else 400
    at_near = {each.variant: round(each.plan_ms, 3) for each in measured if each.candidates == near}
    headline = {
        "candidates": near,
        "plan_ms": at_near,
        "most_ms": max(at_near.values()),
        "over_n_log_n": round(max(over_n_log_n(measured, variant) for variant in VARIANTS), 3),
    }
    details = {"columns": columns, "rows": rows}
    finish("cache_assignment", headline, details, args.quick, lambda path: plot(path, measured))


def plot(path: Path, measured: Sequence[PlanTime]) -> None:
    """Time over candidates, with the paper's Table 6."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4))
    for variant in VARIANTS:
        own = [each for each in measured if each.variant == variant]
        axis.plot([each.candidates for each in own], [each.plan_ms for each in own], "o-", label=variant)
    axis.plot(list(PAPER_MS), list(PAPER_MS.values()), "kx--", label="the paper's Table 6")
    axis.set(xscale="log", yscale="log", xlabel="candidates", ylabel="ms a step")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
