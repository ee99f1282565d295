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


class TokenAccount:
    """The tokens of a request under way: claimed at first, counted as they come."""

    def __init__(self, quota: Quota, name: str, claim: int) -> None:
        self._quota, self._name = quota, name
        self._left = claim
        self.tokens = Tokens()

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
        self._quota.release(self._name, tokens)


class UserLimits:
    """Counts requests under way; all in one event loop.

    A user may go over by what one request asks.
    """

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._running = Counter[str]()

    @contextmanager
    def entered(self, user: User, claim: int, num_answers: int) -> Iterator[TokenAccount]:
        """While inside, a request of a user's is under way that may take `claim` tokens.

        Args:
            num_answers: that it wants; each counts as a request.

        Raises:
            Refusal: 429, the user has no more tokens or as many requests as they may have; says when. 400,
                it wants more answers than the user may have requests at once.
        """
        self.check(user, num_answers)
        if not self._quota.claim(user.name, user.token_limits, [claim]):
            raise Refusal(
                429, f"what user {user.name} has under way, SQL among it, may use up "
                f"{limits_in_words(user)}", LIMIT, retry_s=SOON_S,
            )  # fmt: skip
        self._running[user.name] += num_answers
        spending = TokenAccount(self._quota, user.name, claim)
        try:
            yield spending
        finally:
            spending.end()
            self._running[user.name] -= num_answers

    def check(self, user: User, num_answers: int = 1) -> None:
        """See that a user may begin a request; raises as `entered`."""
        self.check_size(user, num_answers)
        most = user.requests_at_once
        if most is not None and self._running[user.name] + num_answers > most:
            message = f"user {user.name} may have {most} requests at once, and has {self._running[user.name]}"
            raise Refusal(429, message, LIMIT, retry_s=SOON_S)
        self._check_tokens(user)

    def check_size(self, user: User, num_answers: int) -> None:
        """See that a request wants no more answers than the user may have at once; raises as `entered`."""
        most = user.requests_at_once
        if most is not None and num_answers > most:
            raise bad_request(
                f"this asks for {num_answers:,} answers, and user {user.name} may have {most} requests"
            )

    def _check_tokens(self, user: User) -> None:
        try:
            check_tokens(user, self._quota)
        except QuotaError as error:
            raise Refusal(429, str(error), LIMIT, retry_s=error.wait_s) from None


def limits_in_words(user: User) -> str:
    """A user's limits of tokens."""
    limits = zip(user.token_limits, WINDOWS, strict=True)
    return " or ".join(f"the {limit:,} tokens of {window}" for limit, window in limits if limit is not None)
