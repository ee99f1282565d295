"""Fair shares between users: weights and deficit counters, in the tokens that users get.

Deficit round robin (Shreedhar and Varghese 1995), turned round: a user's counter is what it has got by its
weight, with what its requests will say that run, and the user with the least goes next. Counters are kept by
user, never by relQuery: who splits its work into many relQueries, or many requests, gets no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relserve.policies.admission.request import Request


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

    def got(self, user: str) -> float:
        """Tokens by weight that count for a user, with those that its requests will say that run.

        Who was away has saved up nothing.
        """
        return self._settled(user) + max(self._due.get(user, 0.0), 0.0)

    def took(self, user: str, tokens: float) -> None:
        """A request of a user starts, which is expected to say so many tokens."""
        self._due[user] = self._due.get(user, 0.0) + self._weighed(user, tokens)

    def ended(self, user: str, expected: float, tokens: float) -> None:
        """It has ended, or was given up, having said so many in place of those expected."""
        self._got[user] = self._settled(user) + self._weighed(user, tokens)
        self._due[user] = self._due.get(user, 0.0) - self._weighed(user, expected)

    def by_user(self, waiting: Sequence[Request]) -> list[list[Request]]:
        """Those that wait by user, whoever has got least first; each user's own in their order."""
        queues: dict[str, list[Request]] = {}
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
        return tokens / self._weights.get(user, 1.0)
