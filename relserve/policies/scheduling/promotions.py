"""Which deadlines a guard keeps, and how much that may cost those who have to wait for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relserve.policies.scheduling.book import RelBook, vector
from relserve.policies.scheduling.order import Floats, Slots

SHARE = 0.5  # by which all promotions together may lengthen the predicted latencies of those put back
INFINITE = float("inf")
AT_ONCE = 64  # promotions considered together, those that are due first


class Promotions:
    """Chooses the relQueries that go before shorter ones because they would else miss their deadlines.

    By the predictions, the mean latency of those that are put back grows by at most `SHARE`. For that, the
    seconds that each has spent behind such are counted, as the work of these is done.
    """

    def __init__(self) -> None:
        self._latest: dict[str, tuple[float, float]] = {}  # value and work in seconds of those chosen last

    def choose(
        self, values: Floats, work_s: Floats, tail_s: Floats, due_s: Floats, now_s: float, book: RelBook
    ) -> NDArray[np.bool_]:
        """Of each slot whether its deadline is to be kept; to be called with every plan.

        Args:
            values: by which relQueries are ordered where no deadline is missed.
            work_s: seconds of the engine that each still takes.
            tail_s: seconds that it takes after that, whoever goes first.
            due_s: when that has to be done, counted from now; infinite without a deadline.
        """
        chosen = np.zeros(len(values), dtype=bool)
        order = np.lexsort((vector(book.arrival_s), values))
        put_back_s = vector(book.column("put_back_s", blank=0.0))
        if self._latest:
            self._charge(put_back_s, values[order], work_s, order, book)
        each_s, limits_s = work_s[order], due_s[order]
        ends_s = each_s.cumsum()
        late = ((ends_s > limits_s) & (limits_s >= each_s) & (each_s > 0.0)).nonzero()[0]
        if len(late):
            spent_s = put_back_s[order]
            alike_s = now_s - vector(book.arrival_s)[order] - spent_s + ends_s + tail_s[order]  # unpromoted
            late = late[np.argsort(limits_s[late], kind="stable")][:AT_ONCE]
            slots = order[_affordable(late, SHARE * alike_s - spent_s, ends_s, limits_s, each_s)]
            chosen[slots] = True
            self._latest = {book.states[slot].rel_id: (values[slot], work_s[slot]) for slot in slots.tolist()}
        return chosen

    def _charge(
        self, put_back_s: Floats, in_order: Floats, work_s: Floats, order: Slots, book: RelBook
    ) -> None:
        """Count what was done of those chosen last: all that are shorter have waited for it."""
        served_s = np.zeros(len(in_order) + 1)
        for rel_id, (value, was_s) in self._latest.items():
            slot = book.slot_of.get(rel_id)
            remaining_s = 0.0 if slot is None else work_s[slot]
            served_s[np.searchsorted(in_order, value)] += max(was_s - remaining_s, 0.0)
        put_back_s[order] += served_s[::-1].cumsum()[::-1][1:]
        self._latest = {}


def _affordable(late: Slots, room_s: Floats, ends_s: Floats, due_s: Floats, work_s: Floats) -> Slots:
    """Those of the late ones that can be promoted, and make nobody late by that; by place in order of values.

    Args:
        late: those due first come first.
        room_s: seconds for which each may still be put back.
    """
    late = _alone_affordable(late, room_s, ends_s, due_s, work_s)
    counts, found, promoted_s = np.ones(len(room_s)), [], 0.0
    slack_s = np.where(ends_s > due_s, INFINITE, due_s - ends_s)
    for place in late.tolist():
        needs_s = work_s[place]
        first = min(int(np.searchsorted(ends_s, due_s[place] - needs_s - promoted_s, "right")), place)
        passed = slice(first, place)
        is_too_dear = room_s[passed].sum() < needs_s * counts[passed].sum()
        if is_too_dear or slack_s[passed].min(initial=INFINITE) < needs_s:
            continue
        room_s[passed] -= needs_s * counts[passed]
        slack_s[passed] -= needs_s
        room_s[place] = counts[place] = 0.0
        promoted_s += needs_s
        found.append(place)
    return np.array(found, dtype=np.intp)


def _alone_affordable(late: Slots, room_s: Floats, ends_s: Floats, due_s: Floats, work_s: Floats) -> Slots:
    """Those of the late ones that others have room for if no other is promoted."""
    needs_s = work_s[late]
    first = np.minimum(np.searchsorted(ends_s, due_s[late] - needs_s, "right"), late)
    sums_s = np.concatenate(([0.0], room_s.cumsum()))
    found: Slots = late[sums_s[late] - sums_s[first] >= needs_s * (late - first)]
    return found
