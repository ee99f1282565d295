"""Serve requests by a fleet: arrivals, steps, late reports, members that die and come back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np

from relserve.policies.dispatch.desk import Asked, Desk
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.state import Report
from relserve.simulator.events import Event, EventHeap
from relserve.simulator.fleet.member import MemberSpec, SimMember


class FleetRequest(NamedTuple):
    """A request that will come.

    Attributes:
        shared_tokens: of the prompt, those that its session's earlier requests had.
    """

    arrival_s: float
    num_prompt: int
    num_output: int
    ttft_slo_s: float = inf
    tpot_slo_s: float = inf
    session: str = ""
    shared_tokens: int = 0


class Death(NamedTuple):
    """A member dies with all that it has, and comes back, empty, `back_s` later."""

    at_s: float
    name: str
    back_s: float = inf


class Link(NamedTuple):
    """Between members and the desk.

    Attributes:
        delay_s: how late a report comes.
        every_s: between two reports of a member at least.
        beat_s: between two reports of a member that has nothing to do.
        notice_s: until the desk knows that a member is dead.
    """

    delay_s: float = 0.005
    every_s: float = 0.02
    beat_s: float = 0.5
    notice_s: float = 0.2


LINK = Link()


@dataclass(slots=True)
class Served:
    """What became of a request.

    Attributes:
        member: that answered it.
        attempts: how often it was sent.
        answers: how often it was answered, which is to be once.
    """

    spec: FleetRequest
    member: str = ""
    attempts: int = 0
    answers: int = 0
    first_s: float = inf
    ended_s: float = inf

    @property
    def ttft_s(self) -> float:
        """Until its first token."""
        return self.first_s - self.spec.arrival_s

    @property
    def tpot_s(self) -> float:
        """Mean time between its tokens."""
        return (self.ended_s - self.first_s) / max(self.spec.num_output - 1, 1)

    @property
    def e2e_s(self) -> float:
        """Until its last token."""
        return self.ended_s - self.spec.arrival_s

    @property
    def in_time(self) -> bool:
        """Whether it kept both limits."""
        return self.ttft_s <= self.spec.ttft_slo_s and self.tpot_s <= self.spec.tpot_slo_s


@dataclass
class Outcome:
    """Every request in the order of arrival, and what the desk's choices took in real time."""

    served: list[Served]
    choices_s: list[float] = field(default_factory=list)
    num_steps: int = 0
    wall_s: float = 0.0

    @property
    def attained(self) -> float:
        """The share of requests within their limits."""
        return float(np.mean([served.in_time for served in self.served]))


def simulate(
    requests: Sequence[FleetRequest], members: Sequence[MemberSpec], policy: DispatchPolicy,
    link: Link = LINK, seed: int = 0, deaths: Sequence[Death] = (),
) -> Outcome:  # fmt: skip
    """Serve every request.

    Args:
        seed: of the noise of steps.

    Raises:
        ValueError: no member is left and none comes back.
    """
    started = time.perf_counter()
    fleet = Fleet(sorted(requests, key=_arrival), members, policy, link, seed)
    first: list[Event] = [Beats(-link.delay_s, fleet)]
    EventHeap([*first, *fleet.arrivals(), *[Dies(death.at_s, fleet, death) for death in deaths]]).run()
    if fleet.homeless:
        raise ValueError(f"{len(fleet.homeless)} requests found no member")
    fleet.outcome.wall_s = time.perf_counter() - started
    return fleet.outcome


def _arrival(request: FleetRequest) -> float:
    return request.arrival_s


class Fleet:
    """The members, the desk, and what has become of each request."""

    def __init__(
        self, requests: Sequence[FleetRequest], members: Sequence[MemberSpec], policy: DispatchPolicy,
        link: Link, seed: int,
    ) -> None:  # fmt: skip
        self.link, self.desk = link, Desk(policy)
        self.members = {spec.name: SimMember(spec, 7919 * seed + i) for i, spec in enumerate(members)}
        self.alive = set(self.members)
        self.outcome = Outcome([Served(request) for request in requests])
        self.homeless: list[Asked] = []
        self.num_left, self.num_coming = len(requests), 0
        self._reported_s = dict.fromkeys(self.members, -inf)
        for spec in members:
            self.desk.join(spec.member)

    def arrivals(self) -> list[Arrives]:
        """One for each request."""
        return [
            Arrives(
                spec.arrival_s, self,
                Asked(
                    str(i), spec.num_prompt, inf, spec.ttft_slo_s, spec.tpot_slo_s, "", spec.session,
                    spec.shared_tokens,
                ),
            )
            for i, spec in enumerate(each.spec for each in self.outcome.served)
        ]  # fmt: skip

    def dispatch(self, asked: Asked, now_s: float) -> list[Event]:
        """Send a request; one that finds nobody waits until somebody is there."""
        if not len(self.desk.board):
            self.homeless.append(asked)
            return []
        started = time.perf_counter()
        name, number = self.desk.send(asked, now_s)
        self.outcome.choices_s.append(time.perf_counter() - started)
        served = self.outcome.served[int(asked.request_id)]
        served.attempts += 1
        if name not in self.alive:
            return []
        member = self.members[name]
        member.receive(asked, served.spec.num_output, number, now_s - served.spec.arrival_s, now_s)
        return [] if member.step is not None else [Starts(now_s, self, member, member.incarnation)]

    def reported(self, member: SimMember, now_s: float, every_s: float) -> list[Event]:
        """A report that is on its way, unless one was sent in so many seconds."""
        name = member.spec.name
        if now_s - self._reported_s[name] < every_s:
            return []
        self._reported_s[name] = now_s
        return [Tells(now_s + self.link.delay_s, self, name, member.report())]


@dataclass(slots=True)
class Ends:
    """A member's step is over."""

    rank: ClassVar[int] = 0
    time_s: float
    fleet: Fleet
    member: SimMember
    incarnation: int

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, member, now_s = self.fleet, self.member, self.time_s
        if member.incarnation != self.incarnation or member.spec.name not in fleet.alive:
            return []
        fleet.outcome.num_steps += 1
        for done in member.finish(now_s):
            served = fleet.outcome.served[int(done.asked.request_id)]
            fleet.num_left -= not served.answers
            served.member, served.answers = member.spec.name, served.answers + 1
            served.first_s, served.ended_s = done.first_s, done.ended_s
            fleet.desk.ended(done.asked.request_id, now_s, done.num_output)
        return [Starts(now_s, fleet, member, self.incarnation)]


@dataclass(slots=True)
class Tells:
    """A member's report comes to the desk."""

    rank: ClassVar[int] = 1
    time_s: float
    fleet: Fleet
    name: str
    report: Report

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        self.fleet.desk.report(self.name, self.report, self.time_s)
        return []


@dataclass(slots=True)
class Beats:
    """Members that have said nothing for long say that they are there."""

    rank: ClassVar[int] = 1
    time_s: float
    fleet: Fleet

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, now_s = self.fleet, self.time_s
        goes_on = fleet.num_left and (fleet.alive or fleet.num_coming)
        found: list[Event] = [Beats(now_s + fleet.link.beat_s, fleet)] if goes_on else []
        for name in fleet.alive:
            found += fleet.reported(fleet.members[name], now_s, fleet.link.beat_s)
        return found


@dataclass(slots=True)
class Dies:
    """A member dies."""

    rank: ClassVar[int] = 2
    time_s: float
    fleet: Fleet
    death: Death

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, name = self.fleet, self.death.name
        fleet.alive.discard(name)
        fleet.members[name].step = None
        found: list[Event] = [IsMissed(self.time_s + fleet.link.notice_s, fleet, name)]
        if self.death.back_s < inf:
            fleet.num_coming += 1
            found.append(ComesBack(self.time_s + max(self.death.back_s, fleet.link.notice_s), fleet, name))
        return found


@dataclass(slots=True)
class IsMissed:
    """The desk knows that a member is dead, and asks elsewhere."""

    rank: ClassVar[int] = 3
    time_s: float
    fleet: Fleet
    name: str

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        found: list[Event] = []
        for asked in self.fleet.desk.leave(self.name):
            found += self.fleet.dispatch(asked, self.time_s)
        return found


@dataclass(slots=True)
class ComesBack:
    """A dead member's next process is ready."""

    rank: ClassVar[int] = 4
    time_s: float
    fleet: Fleet
    name: str

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, member = self.fleet, self.fleet.members[self.name]
        member.start()
        fleet.num_coming -= 1
        fleet.alive.add(self.name)
        fleet.desk.join(member.spec.member)
        found: list[Event] = []
        homeless, fleet.homeless = fleet.homeless, []
        for asked in homeless:
            found += fleet.dispatch(asked, self.time_s)
        return found


@dataclass(slots=True)
class Arrives:
    """A request comes."""

    rank: ClassVar[int] = 5
    time_s: float
    fleet: Fleet
    asked: Asked

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        return self.fleet.dispatch(self.asked, self.time_s)


@dataclass(slots=True)
class Starts:
    """A member is free to begin a step; last, so that all that come at this time are in it."""

    rank: ClassVar[int] = 6
    time_s: float
    fleet: Fleet
    member: SimMember
    incarnation: int

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, member = self.fleet, self.member
        if member.incarnation != self.incarnation or member.step is not None:
            return []
        if member.spec.name not in fleet.alive:
            return []
        end_s = member.begin(self.time_s)
        found = fleet.reported(member, self.time_s, fleet.link.every_s if end_s is not None else 0.0)
        return found if end_s is None else [*found, Ends(end_s, fleet, member, self.incarnation)]
