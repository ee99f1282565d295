"""The processes that own a fleet: each has a router and a thread, and knows of the others by reports only."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from relserve.policies.dispatch.router import Router


class Link(NamedTuple):
    """Between members and an owner.

    Attributes:
        delay_s: how late a report comes.
        every_s: between two reports of a member to one owner at least.
        beat_s: between two reports of a member that has nothing to do.
        num_beats: in how many groups such members report, one after the other; 1: all at once.
        notice_s: until the owners know that a member is dead.
    """

    delay_s: float = 0.005
    every_s: float = 0.02
    beat_s: float = 0.5
    notice_s: float = 0.2
    num_beats: int = 1


LINK = Link()


class Owners(NamedTuple):
    """How many processes own the fleet together, and how long each of them takes for its work.

    Attributes:
        request_s: of its one thread that a request takes, from its choice to its end; all before it is sent.
        report_s: that taking in a report takes.
        most_waiting: reports that wait while it is busy; those that come then are lost, as of a socket whose
            buffer is full.
    """

    number: int = 1
    request_s: float = 0.0
    report_s: float = 0.0
    most_waiting: float = inf


ONE = Owners()


@dataclass
class SimulatedOwner:
    """One of them. What comes while it is busy waits, in the order in which it came.

    Attributes:
        number: its place among the owners.
        free_s: when its thread will have done all that has come.
        told_s: when each member reported to it last.
        num_waiting: reports that have come and were not taken in yet.
    """

    number: int
    router: Router
    spec: Owners
    free_s: float = -inf
    told_s: dict[str, float] = field(default_factory=dict)
    num_waiting: int = 0

    def asked(self, now_s: float) -> float:
        """A request comes; gives when it will be sent."""
        return self._takes(now_s, self.spec.request_s)

    def told(self, now_s: float) -> float | None:
        """A report comes; gives when it will be taken in, None where it is lost."""
        if self.num_waiting >= self.spec.most_waiting:
            return None
        self.num_waiting += 1
        return self._takes(now_s, self.spec.report_s)

    def _takes(self, now_s: float, seconds: float) -> float:
        self.free_s = max(self.free_s, now_s) + seconds
        return self.free_s
