"""Caps on what may be asked: rows, tokens and dollars, claimed before a row goes and settled by what came."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from relserve.prices.price import dollars


class Amounts(NamedTuple):
    """What rows take: how many they are, tokens of prompts and answers, US dollars."""

    rows: float = 0
    tokens: float = 0
    cost: float = 0.0

    def plus(self, other: Amounts, times: int = 1) -> Amounts:
        """The sum with so many times the other."""
        rows, tokens, cost = other  # this runs several times a row
        return Amounts(self.rows + times * rows, self.tokens + times * tokens, self.cost + times * cost)


class Limits(NamedTuple):
    """The most of each; None: any."""

    rows: int | None = None
    tokens: int | None = None
    cost: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing is limited."""
        return self == Limits()

    def exceeded_by(self, amounts: Amounts) -> str:
        """What of an amount is over, as an option is called, with its value; "" for nothing."""
        if self.is_open:
            return ""
        for name, limit, amount in zip(NAMES, self, amounts, strict=True):
            if limit is not None and amount > limit * (1 + 1e-9):
                shown = dollars(limit) if name == NAMES[2] else f"{limit:,}"
                return f"{name} := {shown}"
        return ""


NAMES = ("max_rows", "max_tokens_total", "max_cost")


class SpendingCap:
    """A cap that several relQueries share; safe for several threads.

    A row may go as long as what was spent, what the rows under way are expected to take, and what it is
    expected to take itself are within the limits. So the cap is overshot by what rows under way take more
    than was expected of them.

    Args:
        whose: what it is a cap of, in messages: "a statement".
        spent: before.
        keep: is given all that is spent from now on; None: nobody keeps it.
    """

    def __init__(
        self,
        limits: Limits,
        whose: str,
        spent: Amounts = Amounts(),  # noqa: B008
        keep: Callable[[Amounts], None] | None = None,
    ) -> None:
        self.limits, self.whose, self._keep = limits, whose, keep
        self._spent, self._claimed, self._num_claims = spent, Amounts(), 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> Amounts:
        """So far, without rows under way."""
        return self._spent

    def claim(self, expected: Amounts) -> bool | None:
        """Claim what a row is expected to take, and let it go.

        Returns:
            True: it may go. False: never, the cap is reached. None: not now; rows under way may leave room.
        """
        with self._lock:
            if not self.limits.exceeded_by(self._spent.plus(self._claimed).plus(expected)):
                self._claimed = self._claimed.plus(expected)
                self._num_claims += 1
                return True
            would_fit_alone = not self.limits.exceeded_by(self._spent.plus(expected))
            return None if self._num_claims and would_fit_alone else False

    def release(self, expected: Amounts) -> None:
        """A row that was let go was not sent, or was given up."""
        self.settle(expected, Amounts())

    def settle(self, expected: Amounts, taken: Amounts) -> None:
        """A row that was let go took so much."""
        with self._lock:
            self._claimed = self._claimed.plus(expected, -1)
            self._num_claims -= 1
            if not self._num_claims:
                self._claimed = Amounts()  # without what rounding left
            self._spent = self._spent.plus(taken)
        self._tell(taken)

    def spend(self, taken: Amounts) -> None:
        """So much was taken without a claim."""
        with self._lock:
            self._spent = self._spent.plus(taken)
        self._tell(taken)

    def is_reached(self) -> bool:
        """Whether what was spent leaves nothing."""
        spent = zip(self.limits, self._spent, strict=True)
        return any(limit is not None and amount >= limit for limit, amount in spent)

    def exceeded_with(self, expected: Amounts) -> str:
        """Which limit so much more would exceed; "" for none."""
        return self.limits.exceeded_by(self._spent.plus(expected))

    def told(self) -> str:
        """The limits and what was spent, for messages."""
        limits = [
            f"{name} := {dollars(limit) if name == NAMES[2] else f'{limit:,}'}"
            for name, limit in zip(NAMES, self.limits, strict=True)
            if limit is not None
        ]
        spent = self._spent
        money = f", {dollars(spent.cost)}" if self.limits.cost is not None else ""
        return (
            f"the cap {' and '.join(limits)} of {self.whose} is reached ({spent.rows:,.0f} rows, "
            f"{spent.tokens:,.0f} tokens{money} so far); what was answered is kept, and with a larger cap "
            "only the rest is asked"
        )

    def _tell(self, taken: Amounts) -> None:
        if self._keep is not None and any(taken):
            self._keep(taken)
