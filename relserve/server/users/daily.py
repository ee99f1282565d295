"""What each user may still ask today: rows and dollars, counted in the file of usage, over restarts."""

from __future__ import annotations

import threading
from functools import partial

from relserve.cache.kept_usage import UsageBook, UsageCounts, today
from relserve.server.users.users import User
from relserve.session.caps import Amounts, Limits, SpendingCap


class DailyCaps:
    """One cap for all of a user's connections and each day in UTC; safe for several threads.

    The limits are those of the user's latest connection, so that a change of them holds for all.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._day = ""
        self._limits: dict[str, Limits] = {}
        self._caps: dict[str, SpendingCap] = {}
        self._uncapped: dict[str, Amounts] = {}  # all that users had asked when they were found without a cap

    def limit(self, user: User) -> None:
        """A user connects, with these limits."""
        with self._lock:
            self._limits[user.name] = Limits(user.rows_per_day, None, user.cost_per_day)

    def find(self, name: str, usage: UsageBook) -> SpendingCap | None:
        """The cap of a user who has connected; None: there is none.

        Args:
            usage: where what they have asked is added up.
        """
        with self._lock:
            if self._day != (day := today()):
                self._day, self._caps, self._uncapped = day, {}, {}
            limits = self._limits[name]
            if limits.is_open:
                if name not in self._uncapped:
                    self._uncapped[name] = _amounts(usage.of_day(name, day))
                return None
            before = self._uncapped.pop(name, None)
            if (cap := self._caps.get(name)) is None:
                keep = partial(_keep, usage, name, day)
                if (used := usage.spent(name, day)) is None:  # it is the first cap of the day
                    used, before = usage.of_day(name, day), None
                    keep(_amounts(used))
                cap = SpendingCap(limits, f"user {name} today", _amounts(used), keep)
                self._caps[name] = cap
            if before is not None:  # what was asked since without a cap
                cap.spend(_amounts(usage.of_day(name, day)).plus(before, -1))
            cap.limits = limits
            return cap


def _keep(usage: UsageBook, user: str, day: str, taken: Amounts) -> None:
    usage.spend(user, day, *taken)


def _amounts(counts: UsageCounts) -> Amounts:
    return Amounts(counts.requests, counts.prompt_tokens + counts.output_tokens, counts.cost)
