"""Deadlines among relQueries: HexGen-Text2SQL's urgency as published, and ours, one order for all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from relserve.policies.scheduling.book import RelBook, vector
from relserve.policies.scheduling.deadlines import DUE
from relserve.policies.scheduling.order import Numbers
from relserve.policies.scheduling.priority import Dynamic
from relserve.policies.scheduling.state import RelState, StepView
from relserve.policies.scheduling.workflow_steps import WorkflowSteps
from relserve.policies.workflows.order import DueOrder
from relserve.policies.workflows.types import QueuedStep
from relserve.policies.workflows.urgency import latest_start_s, urgency

HOPELESS = 1e9  # the least priority value of what cannot be in time; those of others are predicted seconds
INFINITE = float("inf")
RANK = 1e-9  # by which values of relQueries that are due one after the other differ at least


class Standing(NamedTuple):
    """How a relQuery with a deadline stands, in seconds.

    Attributes:
        slack_s: that its workflow may still wait and be in time, alone; negative: it cannot be in time.
        urgency_s: U of Eq. 6: positive where more was waited than the step's share of the deadline allows.
    """

    slack_s: float
    urgency_s: float


def standing_of(step: QueuedStep, now_s: float) -> Standing | None:
    """Of a step; None without a deadline."""
    if step.deadline_s is None:
        return None
    return Standing(step.deadline_s - now_s - step.work_left_s, urgency(step, now_s))


class Urgency:
    """HexGen-Text2SQL's local queue as published (Eq. 5 to 7): the most urgent step first.

    All urgencies grow alike, so a step's value is the time at which its own reaches zero, noted when it
    comes. What has no deadline goes last, and may starve.
    """

    def __init__(self) -> None:
        self.steps = WorkflowSteps()
        self._estimate = Dynamic()

    def values(self, view: StepView, book: RelBook) -> Numbers:
        """See `Priority.values`."""
        self._estimate.values(view, book)
        self.steps.take(view)
        starts, cost = book.column("latest_start"), view.cost.linear
        for slot in book.newcomers:
            start_s = latest_start_s(self.steps.step(book.states[slot], book, cost))
            starts[slot] = min(start_s, HOPELESS + book.arrival_s[slot])
        return book.copy(starts)


class DueTimes:
    """Ours: relQueries with deadlines among those without, in one order.

    Among those with deadlines the workflow that is due first goes first: with equal deadlines the oldest one,
    with unequal ones the most urgent; what cannot be in time any more goes last (`DueOrder`). Such a relQuery
    counts as as long as what its workflow has left, or that of one that is due before, so shorter relQueries
    without a deadline go before it as they go before any that is longer, but only until it is due less what
    its workflow takes after it: the guard sees to that, and to those without a deadline as before. Where no
    relQuery has a deadline nothing changes.
    """

    def __init__(self) -> None:
        self.steps = WorkflowSteps()
        self._order = DueOrder()
        self._was_used = False

    def place(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """The priority values with those of relQueries that have a deadline; to be called with every view.

        Args:
            values: by slot of the book, in which the priority has put down its estimates.
        """
        self.steps.take(view)
        found = list(self.steps.with_deadline.values())
        if not found and not self._was_used:
            return values
        due_s = book.column(DUE, blank=INFINITE)
        self._was_used = bool(found)
        if not found:
            vector(due_s)[:] = INFINITE
            return values
        steps = [self.steps.step(state, book, view.cost.linear) for state in found]
        keys = [self._order(step, view.now_s) for step in steps]
        for state, step, key in zip(found, steps, keys, strict=True):
            after_s = step.work_left_s - step.work_s if key.until_s < INFINITE else 0.0
            due_s[book.slot_of[state.rel_id]] = key.due_s - after_s
        ranked = sorted(range(len(found)), key=lambda i: (keys[i].until_s == INFINITE, keys[i][:2], i))
        in_order = [found[i] for i in ranked]
        lengths = [steps[i].work_left_s + HOPELESS * (keys[i].until_s == INFINITE) for i in ranked]
        return _with(values, book, in_order, lengths)


def _with(values: Numbers, book: RelBook, in_order: Sequence[RelState], lengths: Sequence[float]) -> Numbers:
    """The values with those of some relQueries, which rise in this order and are at least their lengths."""
    found = list(values) if isinstance(values, list) else np.array(values)
    for rank, (state, value) in enumerate(zip(in_order, accumulate(lengths, max), strict=True)):
        found[book.slot_of[state.rel_id]] = value * (1.0 + rank * RANK)
    return found
