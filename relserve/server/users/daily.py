"""What each user may still ask today: rows and dollars, counted in the file of usage, over restarts."""

from __future__ import annotations

import threading
from functools import partial

from relserve.cache.kept_usage import UsageBook, UsageCounts, today
from relserve.server.users.users import User
from relserve.session.caps import Amounts, Limits, SpendingCap


class DailyCaps:
    """One cap for all of a user's connections and each day in UTC; safe for several threads.

    The limits are those of the user's latest connection, so that a change of them holds for all. A user
    without limits has a cap, too: it counts, so that a limit that comes later finds all of the day.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._day = ""
        self._limits: dict[str, Limits] = {}
        self._caps: dict[str, SpendingCap] = {}

    def limit(self, user: User) -> None:
        """A user connects, with these limits."""
        with self._lock:
            limits = Limits(user.rows_per_day, None, user.cost_per_day)
            self._limits.pop(user.name, None)
            if not limits.is_open:  # without --users there is no end of names
                self._limits[user.name] = limits
            if user.name in self._caps:
                self._caps[user.name].limits = limits

    def find(self, name: str, usage: UsageBook) -> SpendingCap:
        """The cap of a user who has connected.

        Args:
            usage: where what they have asked is added up.
        """
        with self._lock:
            if self._day != (day := today()):
                self._day, self._caps = day, {}
            if (cap := self._caps.get(name)) is None:
                keep = partial(_keep, usage, name, day)
                if (used := usage.spent(name, day)) is None:  # nothing of the day was counted here
                    used = usage.of_day(name, day)
                    keep(_amounts(used))
                limits = self._limits.get(name, Limits())
                cap = SpendingCap(limits, f"user {name} today", _amounts(used), keep)
                self._caps[name] = cap
            return cap


def _keep(usage: UsageBook, user: str, day: str, taken: Amounts) -> None:
    usage.spend(user, day, *taken)


def _amounts(counts: UsageCounts) -> Amounts:
    return Amounts(counts.requests, counts.prompt_tokens + counts.output_tokens, counts.cost)
