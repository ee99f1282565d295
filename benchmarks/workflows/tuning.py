"""Table 3: what tuning alpha takes, on the first 100 seconds of a cell, and which alpha it finds."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

from benchmarks.workflows.hardware import BUDGET, RATIO, engines
from benchmarks.workflows.runs import ONE, WorkflowCell, typical_s
from benchmarks.workflows.traces import workload
from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced
from relserve.policies.dispatch.hexgen.replay import replay
from relserve.policies.dispatch.hexgen.tuning import WINDOW_S, best_alpha
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.workflows.stages import DoneStep, PastWorkflow


class Tuned(NamedTuple):
    """The alpha that was found, real seconds, and how many queries were replayed how often."""

    alpha: float
    seconds: float
    num_queries: int
    num_replays: int


def tune(cell: WorkflowCell, seed: int) -> Tuned:
    """Tune on the queries of the first window."""
    flows = workload(cell.trace, cell.rate, seed, typical_s(cell.setup, cell.trace, RATIO), ONE)
    past = [
        PastWorkflow(
            flow.arrival_s,
            [[DoneStep(s.stage, s.prompt_tokens, s.output_tokens) for s in level] for level in flow.levels],
        )
        for flow in flows if flow.arrival_s <= WINDOW_S
    ]  # fmt: skip
    members = MemberTable()
    for engine in engines(cell.setup, RATIO, BUDGET, False):
        members.join(engine.member)
    tried: list[float] = []

    def mean_latency_s(alpha: float) -> float:
        tried.append(alpha)
        return statistics.fmean(replay(past, members, WorkloadBalanced(alpha=alpha)))

    started = time.perf_counter()
    alpha = best_alpha(mean_latency_s)
    return Tuned(alpha, time.perf_counter() - started, len(past), len(tried))
