"""Starvation guards: who goes first whatever the priorities say."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from relserve.policies.scheduling.book import RelBook, Table
from relserve.policies.scheduling.decompose import SharedWork, shared_work
from relserve.policies.scheduling.order import Floats
from relserve.policies.scheduling.priority import active_miss_ratios, alone_s
from relserve.policies.scheduling.state import StepView

Marks = NDArray[np.bool_]


class Guard(Protocol):
    """Marks relQueries as starved; they go first, the earliest to come foremost, for as long as they are."""

    def starved(self, view: StepView, book: RelBook) -> Marks:
        """Who is, by slot of the book, in which the priority has put down its estimates."""


class NoGuard:
    """Nobody is starved."""

    def starved(self, view: StepView, book: RelBook) -> Marks:
        """See `Guard.starved`."""
        return np.zeros(len(book.states), dtype=bool)


class StarvationGuard:
    """The paper's: a relQuery that has waited too long for its size (Eq. 13).

    unit_waiting_time(R) = waiting_time(R) / req(R_0), with the waiting time that ends when its first row is
    scheduled; above `threshold_s` (seconds per row) its priority value counts as zero, from then on.
    """

    def __init__(self, threshold_s: float) -> None:
        self.threshold_s = threshold_s

    def starved(self, view: StepView, book: RelBook) -> Marks:
        """See `Guard.starved`."""
        sizes, starved = book.table("starvation_size", 2), book.table("starved", 1)
        if book.active:
            active = (book.states[slot] for slot in book.active)
            has_started = [state is not None and state.first_scheduled_s is not None for state in active]
            sizes[book.active] = np.array([book.counts.num_rows, has_started])
        num_rows, has_started_by_slot = sizes[book.used]
        waited_s = view.now_s - book.arrival_s
        is_over = waited_s / np.maximum(num_rows, 1.0) > self.threshold_s
        starved[np.flatnonzero(is_over & (has_started_by_slot == 0)).tolist()] = 1.0
        marks: Marks = starved[book.used][0] == 1.0
        return marks


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

    def starved(self, view: StepView, book: RelBook) -> Marks:
        """See `Guard.starved`."""
        cost, fcfs = view.cost.linear, fcfs_work(book)
        fcfs[book.enlarged] = np.nan
        if book.active:
            _put_down(view, book)
        done_s = view.now_s - book.arrival_s + alone_s(book)[book.used][0]
        marks: Marks = done_s > self.patience * SharedWork(*fcfs[book.used]).seconds(cost)
        return marks


def fcfs_work(book: RelBook) -> Table:
    """All there was to do when a relQuery came, its own work included; see `SharedWork`."""
    return book.table("fcfs_work", len(SharedWork._fields))


def _put_down(view: StepView, book: RelBook) -> None:
    """Note for those that are new all work that came no later than they did."""
    work = book.table("shared_work", len(SharedWork._fields))
    work[book.active] = np.array(shared_work(book.counts, active_miss_ratios(book), view.limits))
    fcfs = fcfs_work(book)
    is_new = np.isnan(fcfs[book.active][0])
    new = [slot for slot, flag in zip(book.active, is_new.tolist(), strict=True) if flag]
    if not new:
        return
    ahead = _work_up_to(book.arrival_s[new], book.arrival_s, work[book.used])
    # A row's outputs come one after another, also on an idle engine.
    ahead[2] = np.maximum(ahead[2], book.counts.output_cap[is_new])
    fcfs[new] = ahead


def _work_up_to(times_s: Floats, arrival_s: Floats, work: Floats) -> Floats:
    """The work of all relQueries that came no later than each of some times; a column a time."""
    first_s = times_s.min()
    earlier = work.sum(axis=1, where=arrival_s < first_s)
    late = np.flatnonzero(arrival_s >= first_s)
    late = late[np.argsort(arrival_s[late], kind="stable")]
    sums = np.cumsum(work[:, late], axis=1)
    found: Floats = earlier[:, None] + sums[:, np.searchsorted(arrival_s[late], times_s, side="right") - 1]
    return found
