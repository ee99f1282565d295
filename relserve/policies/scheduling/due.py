"""Deadlines among relQueries: HexGen-Text2SQL's urgency as published, and ours, one order for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.scheduling.book import Column, RelBook, vector
from relserve.policies.scheduling.deadlines import BACK, DUE, LAST
from relserve.policies.scheduling.order import Numbers
from relserve.policies.scheduling.priority import Dynamic, alone_s
from relserve.policies.scheduling.state import StepView
from relserve.policies.scheduling.workflow_steps import WorkflowSteps
from relserve.policies.workflows.types import Demand, QueuedStep
from relserve.policies.workflows.urgency import latest_start_s, urgency

HOPELESS_S = 120.0  # by which a workflow steps back that cannot be in time any more
HOPELESS = 1e9  # the least priority value of what cannot be in time; those of others are predicted seconds
INFINITE = float("inf")
RANK = 1e-9  # by which values of workflows that are due one after the other differ at least
ALIKE = 0.9  # share of a workflow's time that another has at least whose deadline counts as equal
WEIGHT = 2.0  # times its length that a workflow counts as among relQueries without deadlines
LONGER = 2.0  # times its length that a workflow counts as, at most, where others claim tighter deadlines


class DeadlineStanding(NamedTuple):
    """How a relQuery with a deadline stands, in seconds.

    Attributes:
        slack_s: that its workflow may still wait and be in time, alone; negative: it cannot be in time.
        urgency_s: U of Eq. 6: positive where more was waited than the step's share of the deadline allows.
    """

    slack_s: float
    urgency_s: float


def standing_of(step: QueuedStep, now_s: float) -> DeadlineStanding | None:
    """Of a step; None without a deadline."""
    if step.deadline_s is None:
        return None
    return DeadlineStanding(step.deadline_s - now_s - step.work_left_s, urgency(step, now_s))


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
        starts, cost = book.column("latest_start"), view.cost
        for slot in book.newcomers:
            start_s = latest_start_s(self.steps.step(book.states[slot], book, cost))
            starts[slot] = min(start_s, HOPELESS + book.arrival_s[slot])
        return book.copy(starts)


class DueTimes:
    """Ours: deadlines among relQueries without, in one order.

    A deadline alone moves nobody: a relQuery keeps its place by length, and the guard puts it first where
    it would else be late. Among steps of workflows the workflow that is due first goes first, with equal
    deadlines the oldest one; each counts as `WEIGHT` times as long as what its workflow has left, or as
    that of one due before, so none goes before what is shorter and has no deadline. By its length alone,
    its many narrow steps would pass whatever is wide, and slow the relQueries beside workflows by half.
    Where one due before gave itself less time than it has, by more than `ALIKE`, it counts as at most
    `LONGER` times as long as it is.

    What comes after a step is taken to go on at the pace that steps have lately, for others will be there
    too. A workflow that is late at this pace is due at once, as long as its step can end early enough for
    those after it. One that would be late even alone goes last, for its answers are of use all together or
    not at all; the guard's promise to it begins `HOPELESS_S` after its deadline, or after it came.
    """

    def __init__(self) -> None:
        self.steps = WorkflowSteps()

    def place(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """The priority values with those of steps of workflows with deadlines; to be called with every view.

        Args:
            values: by slot of the book, in which the priority has put down its estimates.
        """
        self.steps.take(view)
        if not self.steps.with_deadline:
            return values
        self._note(view, book)
        deadline_s, begun_s, prompts, outputs = map(vector, _columns(book))
        due_s, last_s = (vector(book.column(name, blank=INFINITE)) for name in (DUE, LAST))
        cost = view.cost
        flows = (begun_s < INFINITE).nonzero()[0]
        due_s[:] = last_s[:] = deadline_s
        back_s = vector(book.column(BACK, blank=-INFINITE))
        if not len(flows):
            return values
        ends_s, starts_s = deadline_s[flows], begun_s[flows]
        after = Demand(prompts[flows], outputs[flows])  # type: ignore[arg-type]
        after_s = after.seconds(cost)
        hopeless = view.now_s + vector(alone_s(book))[flows] + after_s > ends_s
        due_s[flows] = np.where(hopeless, INFINITE, ends_s - after.at_pace(book.pace_s, cost))
        last_s[flows] = np.where(hopeless, INFINITE, ends_s - after_s)
        back_s[flows] = np.where(hopeless, np.maximum(ends_s, starts_s) + HOPELESS_S, -INFINITE)
        found = np.array(values)
        order = np.lexsort((starts_s, ends_s, hopeless))
        lengths = WEIGHT * (found[flows] + after_s)[order]
        slos_s = (ends_s - starts_s)[order]
        is_claimed = np.minimum.accumulate(slos_s) < ALIKE * slos_s
        in_order = np.maximum.accumulate(lengths)
        if is_claimed.any():
            in_order = np.minimum(in_order, np.where(is_claimed, LONGER * lengths, INFINITE))
        in_order += HOPELESS * hopeless[order]
        found[flows[order]] = in_order * (1.0 + RANK * np.arange(len(order)))
        return found.tolist() if isinstance(values, list) else found

    def _note(self, view: StepView, book: RelBook) -> None:
        """Put down what changes only where a relQuery comes or gets on."""
        deadline_s, begun_s, prompts, outputs = _columns(book)
        for state in view.changed:
            if state.rel_id in self.steps.with_deadline and state.deadline_s is not None:
                slot = book.slot_of[state.rel_id]
                deadline_s[slot] = state.deadline_s
                if self.steps.is_step(state):
                    begun_s[slot] = self.steps.begun_s(state)
                    prompts[slot], outputs[slot] = self.steps.learner.after(state.stage or "")


def _columns(book: RelBook) -> tuple[Column[float], Column[float], Column[float], Column[float]]:
    """Deadlines, when workflows with deadlines began, tokens of prompts and outputs after the step."""
    return (
        book.column("deadline_s", blank=INFINITE), book.column("begun_s", blank=INFINITE),
        book.column("prompts_after", blank=0.0), book.column("outputs_after", blank=0.0),
    )  # fmt: skip
