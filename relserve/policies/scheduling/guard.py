"""Starvation guards: who goes first whatever the priorities say."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from relserve.policies.scheduling.book import Column, RelBook, vector
from relserve.policies.scheduling.decompose import SharedWork, shared_work
from relserve.policies.scheduling.order import Floats, Numbers
from relserve.policies.scheduling.priority import alone_s, miss_ratios
from relserve.policies.scheduling.state import StepView

SHARED_WORK = tuple(f"shared_{name}" for name in SharedWork._fields)  # what each has left
FCFS_WORK = tuple(f"fcfs_{name}" for name in SharedWork._fields)  # all there was when it came


class Guard(Protocol):
    """Puts the starved first, the earliest to come foremost, for as long as they are starved."""

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """The priority values with 0 for the starved.

        Args:
            values: by slot of the book, in which the priority has put down its estimates.
        """


class NoGuard:
    """Nobody is starved."""

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """See `Guard.put_first`."""
        return values


class StarvationGuard:
    """The paper's: a relQuery that has waited too long for its size (Eq. 13).

    unit_waiting_time(R) = waiting_time(R) / req(R_0), with the waiting time that ends when its first row is
    scheduled; above `threshold_s` (seconds per row) its priority value counts as zero, from then on.
    """

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
    """Ours: a relQuery that, even if it goes first from now on, will have taken `patience` times FCFS's time.

    When it comes, all the work that is there is put down, its own included: what first come, first served
    would do before it is finished. That work is priced by the cost model of the moment, so a wrong first
    guess mends itself. Nobody is much worse off than without relserve, whatever the model and the load,
    without a threshold in seconds; and one whose first rows ran and whose other rows wait is not forgotten,
    as Eq. 13 forgets it. What it has left is what `Dynamic` estimated last.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._moved: set[str] = set()  # since somebody came last

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """See `Guard.put_first`."""
        self._moved.update(book.active)
        if book.newcomers:
            self._renew_work(view, book)
            _put_down(book)
        if book.newcomers or book.has_new_cost:
            work = SharedWork(*map(vector, book.columns(FCFS_WORK)))
            vector(fcfs_s(book))[:] = work.seconds(view.cost.linear)
        now_s, patience = view.now_s, self.patience
        return book.each(
            lambda value, came_s, left_s, fcfs_s: value * (now_s - came_s + left_s <= patience * fcfs_s),
            values, book.arrival_s, alone_s(book), fcfs_s(book),
        )  # fmt: skip

    def _renew_work(self, view: StepView, book: RelBook) -> None:
        """Bring up to date the work of those of which something ran or changed."""
        tokens, outputs, steps = book.columns(SHARED_WORK)
        ratios = miss_ratios(book)
        for rel_id in self._moved:
            slot = book.slot_of.get(rel_id)
            if slot is not None:
                work = shared_work(book.states[slot], ratios[slot], view.limits)
                tokens[slot], outputs[slot], steps[slot] = work
        self._moved.clear()


def fcfs_s(book: RelBook) -> Column[float]:
    """Seconds of all there was to do when each relQuery came, its own work included, as priced last."""
    return book.column("fcfs_s")


def _put_down(book: RelBook) -> None:
    """Note for the newcomers all work that came no later than they did."""
    new, arrival_s = book.newcomers, vector(book.arrival_s)
    ahead = _work_up_to(arrival_s[new], arrival_s, np.array(book.columns(SHARED_WORK)))
    # A row's outputs come one after another, also on an idle engine.
    ahead[2] = np.maximum(ahead[2], [book.states[slot].longest_output for slot in new])
    for column, numbers in zip(book.columns(FCFS_WORK), ahead, strict=True):
        vector(column)[new] = numbers


def _work_up_to(times_s: Floats, arrival_s: Floats, work: Floats) -> Floats:
    """The work of all relQueries that came no later than each of some times; a column a time."""
    first_s = times_s.min()
    earlier = work.sum(axis=1, where=arrival_s < first_s)
    late = np.flatnonzero(arrival_s >= first_s)
    late = late[np.argsort(arrival_s[late], kind="stable")]
    sums = np.cumsum(work[:, late], axis=1)
    found: Floats = earlier[:, None] + sums[:, np.searchsorted(arrival_s[late], times_s, side="right") - 1]
    return found
