"""The local priority queue as published: which step of which workflow is urgent (HexGen-Text2SQL, 4.2)."""

from __future__ import annotations

from math import inf

from relserve.policies.workflows.types import QueuedStep


def budget_s(step: QueuedStep) -> float:
    """t_SLO (Eq. 5): the step's share of what was left of the deadline when it was queued.

    The share is that of its work in the work left, both in the mean of the engines. Time that has elapsed is
    that of the workflow when the step came, for what it waits since then is counted by Eq. 6. Infinite
    without a deadline; negative where the deadline had passed.
    """
    if step.deadline_s is None:
        return inf
    mean_s = step.work_s if step.mean_work_s is None else step.mean_work_s
    share = mean_s / max(step.work_left_s, mean_s) if mean_s > 0 else 0.0
    return (step.deadline_s - max(step.queued_s, step.arrival_s)) * share


def urgency(step: QueuedStep, now_s: float) -> float:
    """U = t_m - (t_SLO - waited) (Eq. 6), in seconds; the greatest goes first (Eq. 7).

    A clock that goes back counts as no wait.
    """
    return step.work_s - (budget_s(step) - max(now_s - step.queued_s, 0.0))


def latest_start_s(step: QueuedStep) -> float:
    """When the step's urgency reaches zero.

    All urgencies grow alike, one second a second, so the order of Eq. 7 is that of these times, lowest first,
    and a queue sorted by them stays sorted.
    """
    return step.queued_s + budget_s(step) - step.work_s
