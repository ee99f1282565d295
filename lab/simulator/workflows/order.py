"""In which order an engine takes the steps that wait: as published, first come, and ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from relserve.policies.scheduling.due import HOPELESS_S
from relserve.policies.workflows.types import QueuedStep
from relserve.policies.workflows.urgency import latest_start_s

PLAIN_SLO_S = 300.0  # after which a relQuery without a deadline counts as due


class OrderKey(NamedTuple):
    """Sorts steps, lowest first; equal ones stay in the order in which they were queued.

    Attributes:
        due_s: what decides, a time in seconds.
        arrival_s: the older workflow first; steps that fan out stay together.
        until_s: until when the key holds; infinite where time does not change it.
    """

    due_s: float
    arrival_s: float
    until_s: float = float("inf")


StepOrder = Callable[[QueuedStep, float], OrderKey]
"""Gives a queued step's key at a time, in seconds of the step's clock."""


def first_come(step: QueuedStep, now_s: float) -> OrderKey:
    """In the order in which steps came to the engine, as stock vLLM serves them."""
    return OrderKey(step.queued_s, step.queued_s)


def most_urgent(step: QueuedStep, now_s: float) -> OrderKey:
    """Published: the greatest urgency first (Eq. 7). Without a deadline a step goes last, and may starve."""
    return OrderKey(latest_start_s(step), step.queued_s)


class DueOrder:
    """Ours: one order for deadlines and plain relQueries together.

    The workflow that is due first goes first, with all its steps. With equal deadlines that is the oldest
    workflow, with unequal ones the most urgent. What cannot be in time any more steps back by `hopeless_s`,
    from its deadline or, where that had passed before, from when it came, so that it does not cost others
    their deadlines. What has no deadline is due `plain_slo_s` after it came.

    Nothing starves: everybody's due time is finite and stays, once it has stepped back, and who comes later
    than that is due later.

    Args:
        plain_slo_s: seconds after which what has no deadline is due.
        hopeless_s: seconds by which the hopeless step back.
    """

    def __init__(self, plain_slo_s: float = PLAIN_SLO_S, hopeless_s: float = HOPELESS_S) -> None:
        self.plain_slo_s, self.hopeless_s = plain_slo_s, hopeless_s

    def __call__(self, step: QueuedStep, now_s: float) -> OrderKey:
        """See `StepOrder`."""
        if step.deadline_s is None:
            return OrderKey(step.arrival_s + self.plain_slo_s, step.arrival_s)
        last_s = step.deadline_s - step.work_left_s  # begun later, it is late even alone
        if now_s > last_s:
            return OrderKey(max(step.deadline_s, step.arrival_s) + self.hopeless_s, step.arrival_s)
        return OrderKey(step.deadline_s, step.arrival_s, last_s)
