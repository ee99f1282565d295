"""Priorities: which relQuery is more urgent. Lower values go first."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from relserve.policies.scheduling.book import RelBook, Table
from relserve.policies.scheduling.decompose import AloneWork, pem, pem_exact
from relserve.policies.scheduling.order import Floats
from relserve.policies.scheduling.state import StepView


class Priority(Protocol):
    """Gives relQueries their priority values."""

    def values(self, view: StepView, book: RelBook) -> Floats:
        """By slot of the book, which has taken the view; NaN in empty slots.

        What a priority has to remember it keeps in a table of the book.
        """


class Arrival:
    """First come, first served."""

    def values(self, view: StepView, book: RelBook) -> Floats:
        """See `Priority.values`."""
        return book.arrival_s


class Static:
    """vLLM-SP: fixed at arrival, input plus output tokens of all rows (Eq. 6 and 7, identity mappings)."""

    def values(self, view: StepView, book: RelBook) -> Floats:
        """See `Priority.values`. Rows announced but not arrived count as the mean of those that have."""
        fixed, counts = book.table("static", 1), book.counts
        fixed[book.enlarged] = np.nan
        if book.active:
            found = counts.num_rows * (counts.mean_tokens + counts.output_cap)
            known = fixed[book.active]
            fixed[book.active] = np.where(np.isnan(known), found, known)
        values: Floats = fixed[book.used][0]
        return values


class Dynamic:
    """DPU: the predicted seconds that a relQuery has left, renewed when it made progress (Eq. 8 to 12).

    A relQuery of which nothing ran or changed keeps its estimate (Eq. 12); a new cost model prices it anew.

    Args:
        exact: use Algorithm 1 row by row as published; otherwise its closed form.
        share_bases: ours: of the bases of its steps count only a relQuery's part among those at work. The
            others are kept waiting by its tokens and outputs; a step's base they would pay without it too.
    """

    def __init__(self, exact: bool = False, share_bases: bool = False) -> None:
        self._exact, self._share_bases = exact, share_bases

    def values(self, view: StepView, book: RelBook) -> Floats:
        """See `Priority.values`."""
        if book.active:
            _alone_work(book)[book.active] = self._estimate(view, book)
        share = 1.0 / max(1, book.totals.with_running) if self._share_bases else 1.0
        left = AloneWork(*_alone_work(book)[book.used]).seconds(view.cost.linear)
        alone_s(book)[book.used] = left.alone_s
        return np.asarray(left.work_s + share * left.bases_s)

    def _estimate(self, view: StepView, book: RelBook) -> Floats:
        """Of the active ones; their waiting rows are looked up in the prefix cache before."""
        ratios, found = miss_ratios(book), []
        estimate = pem_exact if self._exact else pem
        for slot, state in zip(book.active, book.active_states, strict=True):
            if state.num_waiting:
                ratios[slot] = view.miss_ratio(state)
            found.append(estimate(state, ratios.one(slot), view.limits))
        return np.array(found, dtype=float).T


def alone_s(book: RelBook) -> Table:
    """Predicted seconds left of each relQuery on an engine of its own, as priced last."""
    return book.table("alone_s", 1)


def _alone_work(book: RelBook) -> Table:
    return book.table("alone_work", len(AloneWork._fields))


def miss_ratios(book: RelBook) -> Table:
    """Miss ratios as measured last; 1 where none was."""
    return book.table("miss_ratio", 1, blank=1.0)


def miss_ratio_of(book: RelBook, rel_id: str) -> float:
    """Of one relQuery; 1 where none was measured."""
    return miss_ratios(book).one(book.slot_of[rel_id])


def active_miss_ratios(book: RelBook) -> Floats:
    """Of the active relQueries; 1 where none was measured."""
    ratios: Floats = miss_ratios(book)[book.active][0]
    return ratios
