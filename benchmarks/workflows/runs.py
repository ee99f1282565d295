"""The runs of `text2sql_simulated`: systems by name, one simulated run, all of them on all cores."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import cache, partial
from math import ceil
from multiprocessing import get_context
from typing import NamedTuple

from benchmarks.workflows.hardware import BUDGET, EXPOSED, RATIO, SETUPS, engines
from benchmarks.workflows.traces import STAGES, TRACES, Tenant, trace, workload
from lab.simulator.workflows.budget import StepBudget
from lab.simulator.workflows.order import DueOrder, StepOrder, first_come, most_urgent
from lab.simulator.workflows.run import ServedWorkflow, WorkflowsOutcome, alone_s, simulate
from lab.simulator.workflows.workload import WorkflowSpec
from relserve.policies.dispatch.finish import PredictedFinish
from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced, prompts_s
from relserve.policies.dispatch.hexgen.tuned import TunedBalanced
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.turns import RoundRobin, Weighted
from relserve.policies.dispatch.variants import make

SLO_SCALE = 5.0  # of all queries in the paper's cells: deadline over what the mean query takes alone
ONE = (Tenant("all", 1.0, SLO_SCALE),)
TWO = (Tenant("tight", 0.5, 2.5), Tenant("loose", 0.5, 8.0))
RATES = (0.5, 1.0)


class WorkflowSystem(NamedTuple):
    """A way to dispatch, an order of each queue, tokens of a step.

    Attributes:
        looks_up: whether the dispatcher knows what engines hold of a prompt.
        steps: chooses the tokens of each step; None: all steps have the budget.
    """

    dispatch: Callable[[], DispatchPolicy]
    order: Callable[[], StepOrder]
    budget: int = BUDGET
    looks_up: bool = False
    steps: StepBudget | None = None


_least = partial(make, "least_loaded")


def _first_come() -> StepOrder:
    return first_come


def _most_urgent() -> StepOrder:
    return most_urgent


VLLM, PUBLISHED, LEAST = "RR+FCFS", "WB+PQ", "least+FCFS"
OURS, BALANCED = "ours", "ours balanced"  # steps of 512 tokens, and of what `StepBudget` says
# That budget for rivals, and without our order: what the budget brings, and what the order does.
PUBLISHED_BALANCED, LEAST_BALANCED = "WB+PQ balanced", "least+FCFS balanced"
BALANCED_FCFS = "ours FCFS balanced"
REPAIRED = "WB repaired+PQ"  # t_queue counts what runs, and prompts alone: what a step waits for
SYSTEMS = {
    VLLM: WorkflowSystem(RoundRobin, _first_come),
    LEAST: WorkflowSystem(_least, _first_come),
    "weighted RR": WorkflowSystem(Weighted, _first_come),
    "RR+PQ": WorkflowSystem(RoundRobin, _most_urgent),
    "WB+FCFS": WorkflowSystem(WorkloadBalanced, _first_come),
    PUBLISHED: WorkflowSystem(WorkloadBalanced, _most_urgent),
    REPAIRED: WorkflowSystem(partial(WorkloadBalanced, queue_s=prompts_s), _most_urgent),
    "WB tuned+PQ": WorkflowSystem(TunedBalanced, _most_urgent),
    "WB+PQ 512": WorkflowSystem(WorkloadBalanced, _most_urgent, 512),
    "ours FCFS": WorkflowSystem(PredictedFinish, _first_come, 512, looks_up=True),
    OURS: WorkflowSystem(PredictedFinish, DueOrder, 512, looks_up=True),
    "ours 256": WorkflowSystem(PredictedFinish, DueOrder, 256, looks_up=True),
    BALANCED: WorkflowSystem(PredictedFinish, DueOrder, looks_up=True, steps=StepBudget()),
    BALANCED_FCFS: WorkflowSystem(PredictedFinish, _first_come, looks_up=True, steps=StepBudget()),
    PUBLISHED_BALANCED: WorkflowSystem(WorkloadBalanced, _most_urgent, steps=StepBudget()),
    LEAST_BALANCED: WorkflowSystem(_least, _first_come, steps=StepBudget()),
}


def with_alpha(alpha: float) -> WorkflowSystem:
    """As published, with another alpha."""
    return WorkflowSystem(partial(WorkloadBalanced, alpha=alpha), _most_urgent)


class WorkflowCell(NamedTuple):
    """A setup of engines, a trace, queries a second."""

    setup: str
    trace: str
    rate: float


CELLS = tuple(WorkflowCell(setup, name, rate) for setup in SETUPS for name in TRACES for rate in RATES)


class WorkflowRun(NamedTuple):
    """One run.

    Attributes:
        alpha: of the published dispatcher, where the system is one of these runs; None: as the system has it.
        num_queries: None: the trace once.
    """

    cell: WorkflowCell
    system: str
    seed: int
    prefix_caching: bool = False
    ratio: float = RATIO
    exposed: float = EXPOSED
    alpha: float | None = None
    tenants: tuple[Tenant, ...] = ONE
    num_queries: int | None = None


class WorkflowRunResult(NamedTuple):
    """What one run showed.

    Attributes:
        latencies_s: of all queries, sorted.
        per_s: queries a second until the last was done.
        attained: by tenant, share of those in time.
        stages: by engine, how many steps of each of the paper's four stages it got.
        cached: share of the prompts' tokens that were found in caches.
        dispatch_s: real time of a decision.
    """

    latencies_s: list[float]
    per_s: float
    attained: dict[str, float]
    stages: dict[str, list[int]]
    cached: float
    dispatch_s: float

    def deadline_s(self, share: float) -> float:
        """The smallest deadline that so many of the queries meet."""
        return self.latencies_s[ceil(share * len(self.latencies_s)) - 1]


@cache
def typical_s(setup: str, name: str, ratio: float) -> float:
    """What a query of a trace takes alone, in the mean of queries and engines; deadlines are multiples."""
    specs = engines(setup, ratio, BUDGET, prefix_caching=False)
    return statistics.fmean(
        alone_s(WorkflowSpec("alone", 0.0, None, levels), specs) for levels in trace(name)
    )


def measure(job: WorkflowRun) -> WorkflowRunResult:
    """Serve a cell's workload."""
    cell, system = job.cell, SYSTEMS[job.system] if job.alpha is None else with_alpha(job.alpha)
    slo_of = typical_s(cell.setup, cell.trace, job.ratio)
    flows = workload(cell.trace, cell.rate, job.seed, slo_of, job.tenants, job.num_queries)
    specs = engines(cell.setup, job.ratio, system.budget, job.prefix_caching, job.exposed)
    specs = [spec._replace(budget=system.steps) for spec in specs]
    looks_up = system.looks_up and job.prefix_caching
    return measured(simulate(flows, specs, system.dispatch(), system.order, looks_up))


def measured(outcome: WorkflowsOutcome) -> WorkflowRunResult:
    """What is kept of a run."""
    served, engines_ = outcome.served, outcome.engines
    tenants = sorted({s.spec.tenant for s in served})
    totals = list(engines_.values())
    computed, cached = sum(t.computed_tokens for t in totals), sum(t.cached_tokens for t in totals)
    stages = {name: [0, 0, 0, 0] for name in engines_}
    for name, total in engines_.items():
        for stage, number in total.stages.items():
            stages[name][STAGES[stage] - 1] += number
    return WorkflowRunResult(
        sorted(s.latency_s for s in served),
        len(served) / max(s.done_s for s in served),
        {tenant: _attained([s for s in served if s.spec.tenant == tenant]) for tenant in tenants},
        stages,
        cached / (computed + cached),
        outcome.dispatch_s / outcome.num_dispatched,
    )


def _attained(served: list[ServedWorkflow]) -> float:
    return statistics.fmean(s.is_in_time for s in served)


def run(jobs: Iterable[WorkflowRun]) -> dict[WorkflowRun, WorkflowRunResult]:
    """All runs, each once."""
    wanted = list(dict.fromkeys(jobs))
    with get_context("spawn").Pool() as pool:
        return dict(zip(wanted, pool.map(measure, wanted, chunksize=4), strict=True))
