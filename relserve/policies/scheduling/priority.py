"""Priorities: which relQuery is more urgent. Lower values go first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

import numpy as np

from relserve.policies.scheduling.book import Column, RelBook, total, vector
from relserve.policies.scheduling.decompose import AloneWork, RemainingSeconds, full_steps, pem, pem_exact
from relserve.policies.scheduling.order import FEW, Floats, Numbers
from relserve.policies.scheduling.state import StepView

ESTIMATE = (*AloneWork._fields, *RemainingSeconds._fields, "alone_s", "full_steps")  # columns of `Dynamic`


class Priority(Protocol):
    """Gives relQueries their priority values."""

    def values(self, view: StepView, book: RelBook) -> Numbers:
        """By slot of the book, which has taken the view.

        What a priority has to remember it keeps in columns of the book.
        """


class FirstComeFirstServed:
    """First come, first served."""

    def values(self, view: StepView, book: RelBook) -> Numbers:
        """See `Priority.values`."""
        return book.copy(book.arrival_s)


class StaticPriority:
    """vLLM-SP: fixed at arrival, input plus output tokens of all rows (Eq. 6 and 7, identity mappings)."""

    def values(self, view: StepView, book: RelBook) -> Numbers:
        """See `Priority.values`. Rows announced but not arrived count as the mean of those that have."""
        fixed = book.column("static")
        for slot in book.newcomers:
            state = book.states[slot]
            fixed[slot] = state.num_rows * (state.mean_tokens + state.output_cap)
        return book.copy(fixed)


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

    def values(self, view: StepView, book: RelBook) -> Numbers:
        """See `Priority.values`."""
        self._estimate(view, book)
        if not self._share_bases:
            return book.copy(alone_s(book))
        share = 1.0 / max(1, book.totals.with_running)
        parts_s = book.columns(("work_s", "bases_s"))
        return book.each(lambda work_s, bases_s: work_s + share * bases_s, *parts_s)

    def _estimate(self, view: StepView, book: RelBook) -> None:
        """Of the active ones; their waiting rows are looked up in the prefix cache before."""
        estimate = pem_exact if self._exact else pem
        states, limits, cost, ratios = book.states, view.limits, view.cost, miss_ratios(book)
        tokens, outputs, prefills, decodes, work_s, bases_s, total_s, full = book.columns(ESTIMATE)
        active: Collection[int] = book.active.values()
        if len(active) > FEW:
            active = _estimate_running(active, view, book)
        for slot in active:
            state = states[slot]
            if state.num_waiting:
                ratios[slot] = view.miss_ratio(state)
            remaining = estimate(state, ratios[slot], limits)
            tokens[slot], outputs[slot], prefills[slot], decodes[slot] = remaining
            work_s[slot], bases_s[slot] = seconds = remaining.seconds(cost)
            total_s[slot] = seconds.alone_s
            full[slot] = full_steps(state, remaining.outputs, limits)
        if book.has_new_cost:
            all_s = AloneWork(*map(vector, (tokens, outputs, prefills, decodes))).seconds(cost)
            for column, numbers in zip((work_s, bases_s, total_s), (*all_s, all_s.alone_s), strict=True):
                vector(column)[:] = numbers


def _estimate_running(slots: Iterable[int], view: StepView, book: RelBook) -> list[int]:
    """Estimate at once those all of whose rows run; gives the slots of the others.

    The numbers are those of `pem` and `full_steps`, of arrays in place of one relQuery's.
    """
    run: list[int] = []
    others: list[int] = []
    for slot in slots:
        state = book.states[slot]
        (others if state.num_waiting or state.num_rows > state.num_arrived else run).append(slot)
    states = [book.states[slot] for slot in run]
    tokens = np.array([state.prefill_left for state in states], dtype=float)
    outputs = np.array([state.sum_decode_left for state in states], dtype=float)
    decodes = np.array([state.max_decode_left for state in states], dtype=float)
    held = np.array([state.mean_tokens + state.row_output for state in states])
    remaining = AloneWork(tokens, outputs, (tokens > 0).astype(float), np.maximum(decodes, 0.0))
    seconds = remaining.seconds(view.cost)
    rows_at_once = np.minimum(view.limits.max_num_seqs, view.limits.kv_tokens / held)
    found = (*remaining, *seconds, seconds.alone_s, outputs / np.maximum(rows_at_once, 1.0))
    places = np.array(run, dtype=np.intp)
    for column, numbers in zip(book.columns(ESTIMATE), found, strict=True):
        vector(column)[places] = numbers
    return others


def alone_s(book: RelBook) -> Column[float]:
    """Predicted seconds left of each relQuery on an engine of its own, as priced last."""
    return book.column("alone_s")


def shared_s(book: RelBook) -> Floats:
    """Predicted seconds that each relQuery still takes of an engine full of others' rows too.

    Its prefill batches are full then, and their bases vanish; of a decode step it pays for its rows.
    """
    assert book.cost is not None
    work_s, steps = map(vector, book.columns(("work_s", "full_steps")))
    found: Floats = work_s + book.cost.decode_base_s * steps
    return found


def ahead_s(book: RelBook) -> float:
    """`shared_s` of all relQueries together."""
    assert book.cost is not None
    work_s, steps = book.columns(("work_s", "full_steps"))
    return total(work_s) + book.cost.decode_base_s * total(steps)


def miss_ratios(book: RelBook) -> Column[float]:
    """Miss ratios as measured last; 1 where none was."""
    return book.column("miss_ratio", blank=1.0)


def miss_ratio_of(book: RelBook, rel_id: str) -> float:
    """Of one relQuery; 1 where none was measured."""
    return miss_ratios(book)[book.slot_of[rel_id]]
