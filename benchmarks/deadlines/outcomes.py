"""What became of workflows with deadlines: how long they took, and which deadlines were met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.deadlines.workflows import DeadlineStepSpec

ATTAINED = 0.95


class DeadlineOutcome(NamedTuple):
    """One run, in seconds.

    Attributes:
        deadline_95_s: the least deadline that 95 % of the workflows would have met.
        mean_s, longest_s: of a workflow.
        in_time: share of the workflows that met the deadline that they had.
        relquery_s, relquery_95_s: latency of the plain relQueries beside them, mean and 95th percentile.
    """

    deadline_95_s: float
    mean_s: float
    longest_s: float
    in_time: float
    relquery_s: float
    relquery_95_s: float


def outcome(steps: Sequence[DeadlineStepSpec], latency_s: Mapping[str, float]) -> DeadlineOutcome:
    """What became of a run.

    Args:
        steps: of all workflows, with the deadlines that they had.
        latency_s: of every relQuery; of a step, from when its workflow came. Those of no step are plain.
    """
    last = {step.workflow_id: step for step in steps}
    flows = np.array([latency_s[step.rel_id] for step in last.values()])
    slos = np.array([np.inf if step.slo_s is None else step.slo_s for step in last.values()])
    ids = {step.rel_id for step in steps}
    plain = np.array([seconds for name, seconds in latency_s.items() if name not in ids])
    return DeadlineOutcome(
        deadline_95(flows), float(flows.mean()), float(flows.max()), float(np.mean(flows <= slos)),
        float(plain.mean()), float(np.quantile(plain, 0.95)),
    )  # fmt: skip


def deadline_95(latencies_s: Sequence[float] | np.ndarray) -> float:
    """The least deadline that 95 % meet: no interpolation, for a workflow meets it or does not."""
    ordered = np.sort(np.asarray(latencies_s, dtype=float))
    return float(ordered[int(np.ceil(ATTAINED * len(ordered) - 1e-9)) - 1])


def mean_outcome(runs: Sequence[DeadlineOutcome]) -> DeadlineOutcome:
    """The mean of every number."""
    return DeadlineOutcome(*(float(np.mean(numbers)) for numbers in zip(*runs, strict=True)))
