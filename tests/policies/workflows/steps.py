"""Queued steps for the tests of workflows."""

from __future__ import annotations

from relserve.policies.workflows.types import QueuedStep


def queued(
    workflow: str = "w",
    *,
    queued_s: float = 0.0,
    arrival_s: float = 0.0,
    deadline_s: float | None = 100.0,
    work_s: float = 1.0,
    work_left_s: float = 10.0,
    mean_work_s: float | None = None,
) -> QueuedStep:
    """A step of some stage."""
    return QueuedStep(workflow, "stage", queued_s, arrival_s, deadline_s, work_s, work_left_s, mean_work_s)
