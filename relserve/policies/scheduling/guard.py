"""Starvation guards: who goes first whatever the priorities say."""

from __future__ import annotations

from math import isinf
from typing import Protocol

import numpy as np

from relserve.policies.scheduling.book import RelBook, vector
from relserve.policies.scheduling.deadlines import BACK, DUE, LAST, DeadlineJob, shortest_in_time
from relserve.policies.scheduling.order import Floats, Numbers
from relserve.policies.scheduling.priority import alone_s, miss_ratios, shared_s
from relserve.policies.scheduling.promotions import Promotions
from relserve.policies.scheduling.shadow import FcfsShadow
from relserve.policies.scheduling.state import StepView

HASTE = 0.85  # of the patience is used up before somebody is put first, for forecasts err
GRACE_S = 0.9  # of a second, beyond the promise, for what is too short to be worth a guard
INFINITE = float("inf")
NEWS = 0.05  # weight of the latest step in the pace of steps
PLAN_AT_ONCE = 64  # relQueries up to which every step is planned anew
PLAN_AGAIN_S = 0.005  # after which a plan is made anew though nobody came or left
SURE_SHARE = 0.999  # of the time that is left, for sums of floats err


class Guard(Protocol):
    """Puts the starved first, for as long as they are starved.

    Attributes:
        keeps_time: whether a simulator asks it in every step, also where no decision could differ; the
            plug-in tells it of such steps by `StepView.num_steps`.
    """

    keeps_time: bool

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """The priority values with 0 for the starved.

        Args:
            values: by slot of the book, in which the priority has put down its estimates.
        """


class NoGuard:
    """Nobody is starved."""

    keeps_time = False

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """See `Guard.put_first`."""
        return values


class StarvationGuard:
    """The paper's: a relQuery that has waited too long for its size (Eq. 13).

    unit_waiting_time(R) = waiting_time(R) / req(R_0), with the waiting time that ends when its first row is
    scheduled; above `threshold_s` (seconds per row) its priority value counts as zero, from then on.
    """

    keeps_time = False

    def __init__(self, threshold_s: float) -> None:
        self.threshold_s = threshold_s

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """See `Guard.put_first`."""
        num_rows, waits = book.column("starvation_rows"), book.column("starvation_waits")
        for slot in book.active.values():
            state = book.states[slot]
            num_rows[slot], waits[slot] = max(state.num_rows, 1), state.first_scheduled_s is None
        now_s, threshold_s, starved = view.now_s, self.threshold_s, book.column("starved", blank=0.0)
        vector(starved)[:] = book.each(
            lambda was, arrival_s, rows, waits: was + waits * ((now_s - arrival_s) / rows > threshold_s) > 0,
            starved, book.arrival_s, num_rows, waits,
        )  # fmt: skip
        return book.each(lambda value, is_starved: value * (1.0 - is_starved), values, starved)


class PatienceGuard:
    """Ours: nobody takes longer than `patience` times what FCFS would have taken for it, and GRACE_S.

    A shadow serves the same relQueries first come, first served. Once it is done with one, the deadline of
    that one is known; before, it is forecast. The shadow meets all deadlines, so there is an order of least
    total latency that meets them (Smith 1956), and it is taken: the priorities decide as long as everybody
    behind is in time. What has a deadline of its own is held to that, too, as far as `Promotions` allow.

    The promise is as good as the cost model, and as what is known of output lengths. It cannot be kept where
    work turns out longer than it was taken for after others were let past, nor where rows that run hold up a
    more urgent one, for they are not interrupted unless memory runs out. As long as steps take other times
    than the cost model says, no promise is made: the shadow notes who came, and serves them once it is known
    at which pace.

    Args:
        patience: in FCFS latencies; where it is infinite, deadlines are kept and nothing else.
        grace_s: seconds on top.
    """

    keeps_time = True

    def __init__(self, patience: float, grace_s: float = GRACE_S) -> None:
        self.patience, self.grace_s = patience, grace_s
        self.shadow = FcfsShadow()
        self._promotions = Promotions()
        self._steps_until_plan = 0
        self._planned_s = -INFINITE
        self._now_s = 0.0  # of the latest step

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """See `Guard.put_first`; the plan is renewed every few milliseconds, among many relQueries steps."""
        self._follow(view, book)
        at_most = book.column("at_most", blank=INFINITE)
        self._steps_until_plan = min(self._steps_until_plan - 1, len(at_most) // PLAN_AT_ONCE)
        is_stale = view.gone or book.newcomers or abs(view.now_s - self._planned_s) >= PLAN_AGAIN_S
        if self._steps_until_plan <= 0 and is_stale:
            self._steps_until_plan = len(at_most) // PLAN_AT_ONCE
            self._planned_s = view.now_s
            self._plan(values, view, book)
        return book.each(min, values, at_most) if isinstance(values, list) else np.minimum(values, at_most)

    def _follow(self, view: StepView, book: RelBook) -> None:
        """Tell the shadow who came and left, and have it serve until now."""
        longest_s = view.cost.step(view.limits.max_num_batched_tokens, view.limits.max_num_seqs)
        were_here = vector(book.column("were_here", blank=0.0))
        if not were_here.any():
            self.shadow.rest()
        else:
            step_s = (view.now_s - self._now_s) / view.num_steps
            book.pace_s += (1.0 - (1.0 - NEWS) ** view.num_steps) * (min(step_s, longest_s) - book.pace_s)
        were_here[:] = 1.0
        self._now_s = view.now_s
        if isinf(self.patience):
            return
        for rel_id in view.gone:
            self.shadow.leave(rel_id, is_done=rel_id not in view.cancelled)
        if view.is_cost_sure:
            self.shadow.advance(view.now_s, view.cost, view.limits)
        ratios = miss_ratios(book)
        for slot in sorted(book.newcomers, key=book.arrival_s.__getitem__):
            self.shadow.arrive(book.states[slot], ratios[slot])

    def _plan(self, values: Numbers, view: StepView, book: RelBook) -> None:
        """Note how low the value of each has to be for everybody to be in time."""
        at_most, shared = vector(book.column("at_most", blank=INFINITE)), shared_s(book)
        at_most[:] = INFINITE
        promises, has_deadlines = view.is_cost_sure and not isinf(self.patience), _has_deadlines(book)
        steps_s, alone = book.pace_s * vector(book.column("decodes")), vector(alone_s(book))
        if not has_deadlines:
            # Where even whoever goes last is done in the time that all have, nobody needs a forecast.
            tail_s = np.maximum(np.maximum(steps_s, alone) - shared, 0.0)
            least_s = (vector(book.arrival_s) - tail_s).min(initial=INFINITE) + self.grace_s - view.now_s
            if not promises or shared.sum() < SURE_SHARE * least_s:
                return
        latencies_s: dict[str, float] = {}
        if promises:
            latencies_s = self.shadow.forecast(view.cost, view.limits) | self.shadow.latency_s
        fcfs_s = np.array([latencies_s.get(state.rel_id, INFINITE) for state in book.states])
        latest_s = vector(book.arrival_s) + HASTE * self.patience * fcfs_s + self.grace_s - view.now_s
        own_steps_s = np.maximum(np.minimum(steps_s, fcfs_s), alone)
        tail_s = np.maximum(own_steps_s - shared, 0.0)  # steps one after the other, whoever goes first
        latest_s -= tail_s
        if has_deadlines:
            latest_s = self._with_deadlines(latest_s, tail_s, np.asarray(values), shared, view, book)
        columns = (np.asarray(values), shared, latest_s)
        jobs = [
            DeadlineJob(*job) for job in zip(*(c.tolist() for c in columns), range(len(shared)), strict=True)
        ]
        jobs = [job for job in jobs if job.work_s and book.states[job.slot].has_promise]
        bound = INFINITE
        for job in reversed(shortest_in_time(jobs) or ()):
            bound = min(job.value, float(np.nextafter(bound, -INFINITE)))
            if bound < job.value:
                at_most[job.slot] = bound

    def _with_deadlines(
        self, latest_s: Floats, tail_s: Floats, values: Floats, work_s: Floats, view: StepView, book: RelBook
    ) -> Floats:
        """When each has to be done, counted from now, where deadlines are earlier that are to be kept."""
        due_s, arrival_s = vector(book.column(DUE, blank=INFINITE)), vector(book.arrival_s)
        latest_s = np.maximum(latest_s, vector(book.column(BACK, blank=-INFINITE)) - view.now_s)
        hasty_s = arrival_s + HASTE * (due_s - arrival_s) - tail_s - view.now_s
        last_s = vector(book.column(LAST, blank=INFINITE)) - tail_s - view.now_s
        due_s = np.maximum(due_s - tail_s - view.now_s, np.minimum(last_s, work_s))
        due_s = np.where(due_s >= work_s, np.maximum(hasty_s, work_s), due_s)
        is_kept = self._promotions.choose(values, work_s, tail_s, due_s, view.now_s, book)
        found: Floats = np.where(is_kept, np.minimum(latest_s, due_s), latest_s)
        return found


def _has_deadlines(book: RelBook) -> bool:
    if not book.has_column(DUE):
        return False
    is_due = vector(book.column(DUE, blank=INFINITE)) < INFINITE
    return bool(is_due.any() or (vector(book.column(BACK, blank=-INFINITE)) > -INFINITE).any())
