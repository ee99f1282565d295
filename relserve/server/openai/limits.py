"""What a user may have under way: requests at once, and tokens of a minute, an hour and a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from relserve.errors import QuotaError
from relserve.server.openai.events import Tokens
from relserve.server.openai.refusal import LIMIT, Refusal, bad_request
from relserve.server.users.metered import check_tokens
from relserve.server.users.quota import WINDOWS, Quota
from relserve.server.users.users import User

SOON_S = 1.0  # when one of the requests under way may have ended


class Spending:
    """The tokens of a request under way: claimed at first, counted as they come."""

    def __init__(self, quota: Quota, claims: Counter[str], name: str, claim: int) -> None:
        self._quota, self._claims, self._name = quota, claims, name
        self._left = claim
        self.tokens = Tokens()
        claims[name] += claim

    def spent(self, tokens: Tokens) -> None:
        """It has had so many tokens in all."""
        grown = sum(tokens) - sum(self.tokens)
        if grown > 0:
            self.tokens = tokens
            self._quota.add(self._name, grown)
            self._release(min(grown, self._left))

    def end(self) -> None:
        """It claims no more."""
        self._release(self._left)

    def _release(self, tokens: int) -> None:
        self._left -= tokens
        self._claims[self._name] -= tokens


class Limits:
    """Counts requests under way; all in one event loop.

    A user may go over by what one request asks.
    """

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._running, self._claims = Counter[str](), Counter[str]()

    @contextmanager
    def entered(self, user: User, claim: int, num_answers: int) -> Iterator[Spending]:
        """While inside, a request of a user's is under way that may take `claim` tokens.

        Args:
            num_answers: that it wants; each counts as a request.

        Raises:
            Refusal: 429, the user has no more tokens or as many requests as they may have; says when. 400,
                it wants more answers than the user may have requests at once.
        """
        self.check(user, num_answers)
        self._running[user.name] += num_answers
        spending = Spending(self._quota, self._claims, user.name, claim)
        try:
            yield spending
        finally:
            spending.end()
            self._running[user.name] -= num_answers

    def check(self, user: User, num_answers: int = 1) -> None:
        """See that a user may begin a request; raises as `entered`."""
        most = user.requests_at_once
        if most is not None and num_answers > most:
            raise bad_request(
                f"this asks for {num_answers:,} answers, and user {user.name} may have {most} requests"
            )
        if most is not None and self._running[user.name] + num_answers > most:
            message = f"user {user.name} may have {most} requests at once, and has {self._running[user.name]}"
            raise Refusal(429, message, LIMIT, retry_s=SOON_S)
        self._check_tokens(user)

    def _check_tokens(self, user: User) -> None:
        try:
            check_tokens(user, self._quota)
        except QuotaError as error:
            raise Refusal(429, str(error), LIMIT, retry_s=error.wait_s) from None
        claimed = self._claims[user.name]
        for window, limit in zip(WINDOWS, user.token_limits, strict=True):
            if claimed and limit is not None and self._quota.used(user.name, window) + claimed >= limit:
                raise Refusal(
                    429, f"the requests of user {user.name} that are under way may use up the {limit:,} "
                    f"tokens of {window}", LIMIT, retry_s=SOON_S,
                )  # fmt: skip
