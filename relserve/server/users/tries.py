"""How many wrong passwords are looked at, from an address and of a user, so that guessing takes its time.

A wrong one is told as quickly as a right one: who waits a moment before telling it helps whoever guesses, who
then need not wait for the answer. Instead there are budgets, which fill up again with time; where one is used
up no password is looked at, not even a right one. A user at an address from which they have come before has a
budget of their own, so that strangers who guess elsewhere shut nobody out.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Hashable
from math import ceil
from typing import NamedTuple

MOST_REMEMBERED = 10_000  # budgets that are not full, and users at addresses
LONGEST_NAME = 64  # characters by which users are told apart; no user's name has more


class TryLimit(NamedTuple):
    """Wrong tries that may be made.

    Attributes:
        most: at once.
        every_s: seconds in which one more may be made.
    """

    most: int
    every_s: float


OF_ADDRESS, OF_USER, OF_KNOWN = TryLimit(60, 1.0), TryLimit(100, 6.0), TryLimit(30, 2.0)


class Tries:
    """Counts wrong tries; all in one event loop.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._addresses, self._users = _Budgets(OF_ADDRESS, clock), _Budgets(OF_USER, clock)
        self._known, self._came = _Budgets(OF_KNOWN, clock), OrderedDict[tuple[str, str], None]()

    def wait_s(self, address: str, user: str | None = None) -> int:
        """Whole seconds until another try may be looked at; 0: now.

        Args:
            user: None: of nobody in particular.
        """
        return ceil(max(budgets.wait_s(key) for budgets, key in self._of(address, user)))

    def wrong(self, address: str, user: str | None = None) -> None:
        """It was a wrong one."""
        for budgets, key in self._of(address, user):
            budgets.use(key)

    def right(self, address: str, user: str) -> None:
        """It was the right one."""
        came = network_of(address), user[:LONGEST_NAME]
        self._came[came] = None
        self._came.move_to_end(came)
        while len(self._came) > MOST_REMEMBERED:
            self._came.popitem(last=False)

    def _of(self, address: str, user: str | None) -> list[tuple[_Budgets, Hashable]]:
        network = network_of(address)
        if user is None:
            return [(self._addresses, network)]
        user = user[:LONGEST_NAME]
        if (network, user) in self._came:
            return [(self._known, (network, user))]
        return [(self._addresses, network), (self._users, user)]


class _Budgets:
    """Budgets of one kind, by whose they are; one that is full need not be remembered."""

    def __init__(self, budget: TryLimit, clock: Callable[[], float]) -> None:
        self._budget, self._clock = budget, clock
        self._full_at: dict[Hashable, float] = {}  # when all of it is there again

    def wait_s(self, key: Hashable) -> float:
        """Seconds until one try may be made."""
        missing_s = self._full_at.get(key, 0.0) - self._clock()
        return max(0.0, missing_s - (self._budget.most - 1) * self._budget.every_s)

    def use(self, key: Hashable) -> None:
        """A try is made."""
        self._full_at[key] = max(self._full_at.get(key, 0.0), self._clock()) + self._budget.every_s
        if len(self._full_at) > MOST_REMEMBERED:  # who guesses under many names wipes out no used-up budget
            by_use = sorted(self._full_at, key=self._full_at.__getitem__)
            for each in by_use[: len(by_use) // 2]:
                del self._full_at[each]


def network_of(address: str) -> str:
    """Whose an address is: of IPv6 all those that one customer is usually given."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
