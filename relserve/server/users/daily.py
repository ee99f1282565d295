"""What each user may still ask today: rows and dollars, counted in the file of usage, over restarts."""

from __future__ import annotations

import threading
from functools import partial

from relserve.cache.kept_usage import UsageBook, UsageCounts, today
from relserve.server.users.users import User
from relserve.session.caps import Amounts, Limits, SpendingCap


class DailyCaps:
    """One cap for all of a user's connections and each day in UTC; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._day = ""
        self._caps: dict[tuple[str, Limits], SpendingCap] = {}

    def find(self, user: User, usage: UsageBook) -> SpendingCap | None:
        """The cap of a user; None: there is none.

        Args:
            usage: where what they have asked is added up.
        """
        limits = Limits(user.rows_per_day, None, user.cost_per_day)
        if limits.is_open:
            return None
        with self._lock:
            if self._day != (day := today()):
                self._day, self._caps = day, {}
            key = user.name, limits
            if key not in self._caps:
                keep = partial(_keep, usage, user.name, day)
                if (used := usage.spent(user.name, day)) is None:  # it is the first cap of the day
                    used = usage.of_day(user.name, day)
                    keep(_amounts(used))
                self._caps[key] = SpendingCap(limits, f"user {user.name} today", _amounts(used), keep)
            return self._caps[key]


def _keep(usage: UsageBook, user: str, day: str, taken: Amounts) -> None:
    usage.spend(user, day, *taken)


def _amounts(counts: UsageCounts) -> Amounts:
    return Amounts(counts.requests, counts.prompt_tokens + counts.output_tokens, counts.cost)
