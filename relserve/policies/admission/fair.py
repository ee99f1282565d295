"""Fair shares between users: weights and deficit counters, in the tokens that users get.

Deficit round robin (Shreedhar and Varghese 1995), turned round: a user's counter is what it has got by its
weight, and the user with the least goes next. Counters are kept by user, never by relQuery: who splits its
work into many relQueries, or many requests, gets no more.
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
        self._got: dict[str, float] = {}
        self._floor = 0.0

    def got(self, user: str) -> float:
        """Tokens by weight that count for a user; who was away has saved up nothing."""
        return max(self._got.get(user, 0.0), self._floor)

    def took(self, user: str, tokens: float) -> None:
        """A request of a user starts, which is expected to say so many tokens."""
        self._got[user] = self.got(user) + tokens / self._weights.get(user, 1.0)

    def corrected(self, user: str, tokens: float) -> None:
        """It has said so many more than expected, or fewer."""
        self._got[user] = self._got.get(user, 0.0) + tokens / self._weights.get(user, 1.0)

    def by_user(self, waiting: Sequence[Request]) -> list[list[Request]]:
        """Those that wait by user, whoever has got least first; each user's own in their order."""
        queues: dict[str, list[Request]] = {}
        for request in waiting:
            queues.setdefault(request.user, []).append(request)
        self._forget(queues)
        order = sorted(queues, key=lambda user: (self.got(user), self._got.get(user, 0.0), user))
        return [queues[user] for user in order]

    def _forget(self, present: Iterable[str]) -> None:
        """The least counter of those who wait is the floor: nobody who comes starts below it."""
        least = min([self.got(user) for user in present], default=self._floor)
        self._floor = max(self._floor, least)
