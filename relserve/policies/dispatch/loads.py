"""Those that look at queues or at latencies."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

import numpy as np

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Column, Request


class Least(ABC):
    """The least of a number; in turn where several have it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._next = 0

    @abstractmethod
    def measure(self, members: MemberTable, now_s: float) -> Column:
        """That number of each member."""

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        found = in_turn(self.measure(members, now_s), self._next)
        self._next = found + 1
        return found


class LeastLoaded(Least):
    """The shortest queue as it was reported last: waiting and running requests."""

    def measure(self, members: MemberTable, now_s: float) -> Column:
        return members["num_waiting"] + members["num_running"]


class LeastUnanswered(Least):
    """The fewest requests, those that were sent since the report counted and those that ended not."""

    def measure(self, members: MemberTable, now_s: float) -> Column:
        return members.num_requests()


class LeastLatency(Least):
    """The least mean latency of the last two seconds (section 7.4).

    Where nothing ended in them, which the paper leaves open, the last mean that is known counts, or 0.
    """

    def measure(self, members: MemberTable, now_s: float) -> Column:
        return members.latencies_s(now_s)


class PowerOfTwo:
    """Of two members drawn at random the one with the shorter queue as it was reported last."""

    def __init__(self, name: str = "power_of_two") -> None:
        self.name = name
        self._random = random.Random(0)

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        if len(members) == 1:
            return 0
        one, other = self._random.sample(range(len(members)), 2)
        load = members["num_waiting"] + members["num_running"]
        return one if load[one] <= load[other] else other


def in_turn(values: Column, first: int) -> int:
    """The row of the least value, the next from `first` on where several have it."""
    first %= len(values)
    after = first + int(np.argmin(values[first:]))
    before = int(np.argmin(values[:first])) if first else after
    return before if values[before] < values[after] else after
