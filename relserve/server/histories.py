"""What everybody asked: one history a user, and what each client may see of them."""

from __future__ import annotations

import itertools
import threading
from collections import deque

from relserve.cache.kept_usage import UsageBook, UsageCounts, UsageKey
from relserve.session.history import ErrorRecord, History, QueryRecord

MAX_USERS = 10_000  # whose histories are kept: without --users every client may come under another name
MAX_OWN = 1000  # relQueries of one client that are remembered to count its statements' tokens


class Histories:
    """The histories of a server's users; safe for several threads."""

    def __init__(self, usage: UsageBook | None = None) -> None:
        self.usage = usage or UsageBook()
        self._of_user: dict[str, History] = {}
        self._lock = threading.Lock()
        self._statements = itertools.count(1)

    def client(self, user: str, is_admin: bool) -> ClientHistory:
        """The history for a new client: records its user's, shows that; an admin's shows everybody's."""
        with self._lock:
            own = self._of_user.get(user) or History(self.usage, user)
            self._of_user.pop(user, None)
            self._of_user[user] = own
            if len(self._of_user) > MAX_USERS:
                del self._of_user[next(iter(self._of_user))]  # who has not come for longest
        return ClientHistory(self, own, is_admin)

    def new_statement(self) -> int:
        """A number that no other statement of the server has."""
        return next(self._statements)

    def queries(self) -> list[tuple[str, QueryRecord]]:
        """Every user's relQueries, oldest first, with the user."""
        found = [(user, each) for user, history in self._each() for each in history.queries()]
        return sorted(found, key=lambda each: each[1].started)

    def latest_errors(self, number: int) -> list[tuple[str, ErrorRecord]]:
        """So many of every user's failed rows, oldest first: there may be a hundred thousand a user."""
        found = [(user, each) for user, history in self._each() for each in history.errors()[-number:]]
        return sorted(found, key=lambda each: each[1].at)[-number:]

    def errors(self) -> list[tuple[str, ErrorRecord]]:
        """Every user's failed rows, oldest first, with the user."""
        found = [(user, each) for user, history in self._each() for each in history.errors()]
        return sorted(found, key=lambda each: each[1].at)

    def _each(self) -> list[tuple[str, History]]:
        with self._lock:
            return list(self._of_user.items())


class ClientHistory(History):
    """What one client asks, recorded with its user's other clients'."""

    def __init__(self, all_users: Histories, own: History, sees_all: bool) -> None:
        super().__init__(own.usage, own.user)
        self._all, self._own, self._sees_all = all_users, own, sees_all
        self.workflows = own.workflows
        self._mine: deque[QueryRecord] = deque(maxlen=MAX_OWN)

    def new_statement(self) -> int:
        return self._all.new_statement()

    def begin(self, record: QueryRecord) -> None:
        self._mine.append(record)
        self._own.begin(record)

    def fail(self, error: ErrorRecord) -> None:
        self._own.fail(error)

    def queries(self) -> list[QueryRecord]:
        return [each for _, each in self._all.queries()] if self._sees_all else self._own.queries()

    def usage_rows(self) -> list[tuple[UsageKey, UsageCounts]]:
        return self.usage.by_day() if self._sees_all else super().usage_rows()

    def errors(self) -> list[ErrorRecord]:
        return [each for _, each in self._all.errors()] if self._sees_all else self._own.errors()

    def num_tokens(self) -> int:
        """Tokens that this client's relQueries have taken since the last call."""
        return sum(each.usage.prompt_tokens + each.usage.output_tokens for each in self.taken())

    def taken(self) -> list[QueryRecord]:
        """This client's relQueries since the last call, which are forgotten here."""
        return [self._mine.popleft() for _ in range(len(self._mine))]
