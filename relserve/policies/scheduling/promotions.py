"""Which deadlines a guard keeps, and how much that may cost those who have to wait for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relserve.policies.scheduling.book import RelBook, vector
from relserve.policies.scheduling.order import Floats, Slots

SHARE = 0.5  # by which all promotions together may lengthen the predicted latencies of those put back
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
        self._charge(put_back_s, values, work_s, order, book)
        ends_s, limits_s, work_s = np.cumsum(work_s[order]), due_s[order], work_s[order]
        late = np.flatnonzero((ends_s > limits_s) & (limits_s >= work_s) & (work_s > 0.0))
        if len(late):
            spent_s = put_back_s[order]
            alike_s = now_s - vector(book.arrival_s)[order] - spent_s + ends_s + tail_s[order]  # latencies without promotions
            late = late[np.argsort(limits_s[late], kind="stable")][:AT_ONCE]
            chosen[order[_affordable(late, SHARE * alike_s - spent_s, ends_s, limits_s, work_s)]] = True
        for slot in np.flatnonzero(chosen).tolist():
            self._latest[book.states[slot].rel_id] = float(values[slot]), float(work_s[order == slot][0])
        return chosen

    def _charge(
        self, put_back_s: Floats, values: Floats, work_s: Floats, order: Slots, book: RelBook
    ) -> None:
        """Count what was done of those chosen last: all that are shorter have waited for it."""
        if not self._latest:
            return
        served_s = np.zeros(len(values) + 1)
        for rel_id, (value, was_s) in self._latest.items():
            slot = book.slot_of.get(rel_id)
            num_shorter = int(np.searchsorted(values[order], value))
            served_s[num_shorter] += max(was_s - (0.0 if slot is None else float(work_s[slot])), 0.0)
        put_back_s[order] += np.cumsum(served_s[::-1])[::-1][1:]
        self._latest.clear()


def _affordable(late: Slots, room_s: Floats, ends_s: Floats, due_s: Floats, work_s: Floats) -> Slots:
    """Those of the late ones that can be promoted; all by place in the order of values.

    Args:
        late: those due first come first.
        room_s: seconds for which each may still be put back.
    """
    counts = np.ones(len(room_s))
    found, promoted_s = [], 0.0
    for place in late.tolist():
        needs_s = work_s[place]
        first = min(int(np.searchsorted(ends_s, due_s[place] - needs_s - promoted_s, "right")), place)
        passed = slice(first, place)
        if room_s[passed].sum() < needs_s * counts[passed].sum():
            continue
        room_s[passed] -= needs_s * counts[passed]
        room_s[place] = counts[place] = 0.0
        promoted_s += needs_s
        found.append(place)
    return np.array(found, dtype=np.intp)
