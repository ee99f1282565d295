"""What each user may still ask today: rows and dollars, counted from the usage on disk, over restarts."""

from __future__ import annotations

import threading

from relserve.cache.kept_usage import UsageBook, today
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
                used = usage.of_day(user.name, day)
                spent = Amounts(used.requests, used.prompt_tokens + used.output_tokens, used.cost)
                self._caps[key] = SpendingCap(limits, f"user {user.name} today", spent)
            return self._caps[key]
