"""Rows for which nobody waits, as those of batches: they get what room the others leave."""

from __future__ import annotations

from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.order import Numbers
from relserve.policies.scheduling.state import StepView

BEHIND = 1e13  # seconds that count on top of what is predicted: more than any other value


class BackgroundRows:
    """relQueries in the background go last, however short they are and however long they have waited."""

    def __init__(self) -> None:
        self._has_seen_one = False

    def put_last(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """The priority values with those of the background behind all; to be called with every view."""
        behind = book.column("background", blank=0.0)
        for state in view.changed:
            if state.is_background:
                behind[book.slot_of[state.rel_id]] = BEHIND
                self._has_seen_one = True
        if not self._has_seen_one:
            return values
        return book.each(lambda value, later_s: value + later_s, values, behind)
