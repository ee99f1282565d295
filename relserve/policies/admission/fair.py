"""Fair shares between users: weights and deficit counters, in the tokens that users get.

Deficit round robin (Shreedhar and Varghese 1995), turned round: a user's counter is what it has got by its
weight, with what its requests will say that run, and the user with the least goes next. Counters are kept by
user, never by relQuery: who splits its work into many relQueries, or many requests, gets no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import NamedTuple

from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.scalability import Fit

MAY_COST = 0.2
HELD_S = 2.0  # in which a user's requests that have ended are forgotten: the next may be on their way
FORGOTTEN = 0.5  # of a request


class Shares:
    """What each user has got, in tokens by weight.

    Args:
        weights: of users; 1 for those who are not named.

    Raises:
        ValueError: a weight is not a positive finite number.
    """

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        for user, weight in (weights or {}).items():
            if not 0 < weight < float("inf"):
                raise ValueError(f"the weight of {user!r} is {weight}; it must be a positive number")
        self._weights = dict(weights or {})
        self._got: dict[str, float] = {}  # of what has ended
        self._due: dict[str, float] = {}  # that those who run are expected to say
        self._floor = 0.0

    def weight(self, user: str) -> float:
        """Of a user."""
        return self._weights.get(user, 1.0)

    def got(self, user: str) -> float:
        """Tokens by weight that count for a user, with those that its requests will say that run.

        Who was away has saved up nothing.
        """
        return self._settled(user) + max(self._due.get(user, 0.0), 0.0)

    def took(self, user: str, tokens: float) -> None:
        """A request of a user starts, which is expected to say so many tokens."""
        self._due[user] = self._due.get(user, 0.0) + self._weighed(user, tokens)

    def ended(self, user: str, expected: float, tokens: float) -> None:
        """It has ended, or was given up, having generated so many in place of those expected."""
        self._got[user] = self._settled(user) + self._weighed(user, tokens)
        self._due[user] = self._due.get(user, 0.0) - self._weighed(user, expected)

    def by_user(self, waiting: Sequence[AdmissionRequest]) -> list[list[AdmissionRequest]]:
        """Those that wait by user, whoever has got least first; each user's own in their order."""
        queues: dict[str, list[AdmissionRequest]] = {}
        for request in waiting:
            queues.setdefault(request.user, []).append(request)
        self._forget(queues)
        order = sorted(queues, key=lambda user: (self.got(user), user))
        return [queues[user] for user in order]

    def _forget(self, present: Iterable[str]) -> None:
        """The least counter of those who wait is the floor: nobody who comes starts below it."""
        least = min([self._settled(user) for user in present], default=self._floor)
        self._floor = max(self._floor, least)

    def _settled(self, user: str) -> float:
        return max(self._got.get(user, 0.0), self._floor)

    def _weighed(self, user: str, tokens: float) -> float:
        return tokens / self.weight(user)


class Had(NamedTuple):
    """How many requests users have, at one moment.

    Attributes:
        by_weight: the users' numbers over their weights, the least first.
        weight: of all of them together.
    """

    by_weight: Sequence[tuple[float, str]]
    weight: float

    def least_beside(self, user: str) -> float | None:
        """Of the others; None where there is nobody else."""
        return next((number for number, name in self.by_weight[:2] if name != user), None)


class Presence:
    """How many requests of each user run, or ran a moment ago, and what one more would cost the others.

    Turns alone are no fair shares on an engine that runs many at once: whoever has few requests has none that
    waits for its turn, and is slowed down by all that run. So requests of one user, beyond as many as another
    has by weight, may cost that one `MAY_COST` of the speed at which all have so many; the first of a user's
    may always start. What was offered and waits is had, too: else two users would hold each other at the
    few that they happen to run. And a user who has left counts with what it had, until it is forgotten: else
    it would count for less the longer it has been away, and would limit others to fewer and fewer.
    """

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._running: dict[str, int] = {}
        self._latest: dict[str, tuple[float, float]] = {}  # how many, when the latest of them ended

    def started(self, user: str) -> None:
        """A request of a user starts."""
        self._running[user] = self._running.get(user, 0) + 1

    def ended(self, user: str, now_s: float) -> None:
        """One has ended."""
        self._latest[user] = self._held(user, now_s), now_s
        if self._running.get(user, 0) > 1:
            self._running[user] -= 1
        else:
            self._running.pop(user, None)

    def had(self, now_s: float, waiting: Mapping[str, int]) -> Had:
        """What users have who have anything.

        Args:
            waiting: requests that wait, by user.
        """
        for user in [user for user in self._latest if self._held(user, now_s) < FORGOTTEN]:
            del self._latest[user]
        weight = self._shares.weight
        users = {*self._running, *self._latest, *waiting}
        numbers = [(self._number(user, now_s, waiting) / weight(user), user) for user in users]
        return Had(sorted(numbers), sum(map(weight, users)))

    def spares(self, user: str, load: int, curve: Fit, had: Had) -> bool:
        """Whether one more of a user's, when `load` run, leaves all others the speed that is theirs."""
        running, least = self._running.get(user, 0), had.least_beside(user)
        if not running or least is None or least >= (running + 1) / self._shares.weight(user):
            return True
        if_equal = max(round(least * had.weight), 1)
        return curve.speed(load + 1) >= (1.0 - MAY_COST) * curve.speed(if_equal)

    def _number(self, user: str, now_s: float, waiting: Mapping[str, int]) -> float:
        here = self._running.get(user, 0) + waiting.get(user, 0)
        return max(self._held(user, now_s), here) if here else self._latest[user][0]

    def _held(self, user: str, now_s: float) -> float:
        latest, when_s = self._latest.get(user, (0.0, now_s))
        return max(float(self._running.get(user, 0)), latest * exp((when_s - now_s) / HELD_S))
