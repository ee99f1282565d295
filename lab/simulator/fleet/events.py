"""What happens to a fleet: arrivals, steps, reports that come late, members that die and come back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, NamedTuple

from lab.simulator.events import Event
from lab.simulator.fleet.fleet import SimulatedFleet
from lab.simulator.fleet.member import SimMember
from lab.simulator.fleet.owner import SimulatedOwner
from relserve.policies.dispatch.router import Asked
from relserve.policies.dispatch.state import Report


class Death(NamedTuple):
    """A member dies with all that it has, and comes back, empty, `back_s` later."""

    at_s: float
    name: str
    back_s: float = inf


def ask(fleet: SimulatedFleet, asked: Asked, now_s: float) -> Iterable[Event]:
    """A request comes to its owner, which sends it as soon as it gets to it."""
    sent = IsSent(fleet.owner(asked).asked(now_s), fleet, asked, now_s)
    return [sent] if sent.time_s > now_s else sent.handle()


def tell(fleet: SimulatedFleet, member: SimMember, now_s: float, every_s: float) -> list[Event]:
    """A member's reports that are on their way, to each owner unless one was sent in so many seconds."""
    late_s, name = now_s + fleet.link.delay_s, member.spec.name
    member.catch_up(now_s)
    return [Tells(late_s, fleet, o, name, report) for o, report in fleet.reports(member, now_s, every_s)]


@dataclass(slots=True)
class Ends:
    """What a member began in a turn is over."""

    rank: ClassVar[int] = 0
    time_s: float
    fleet: SimulatedFleet
    member: SimMember
    turn: int

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, member = self.fleet, self.member
        if member.turn != self.turn or member.spec.name not in fleet.alive:
            return []
        fleet.finish(member, self.time_s)
        return [Starts(self.time_s, fleet, member, member.incarnation)]


@dataclass(slots=True)
class Tells:
    """A member's report comes to an owner."""

    rank: ClassVar[int] = 1
    time_s: float
    fleet: SimulatedFleet
    owner: SimulatedOwner
    name: str
    report: Report

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        known_s = self.owner.told(self.time_s)
        if known_s is None:
            self.fleet.outcome.num_lost += 1
            return []
        known = IsKnown(known_s, self.owner, self.name, self.report)
        return [known] if known_s > self.time_s else known.handle()


@dataclass(slots=True)
class IsKnown:
    """An owner takes a report in."""

    rank: ClassVar[int] = 1
    time_s: float
    owner: SimulatedOwner
    name: str
    report: Report

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        self.owner.num_waiting -= 1
        self.owner.router.report(self.name, self.report, self.time_s)
        return []


@dataclass(slots=True)
class Beats:
    """Those members of a group that have said nothing for long say that they are there."""

    rank: ClassVar[int] = 1
    time_s: float
    fleet: SimulatedFleet
    group: int

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, now_s, link = self.fleet, self.time_s, self.fleet.link
        goes_on = fleet.num_left and (fleet.alive or fleet.num_coming)
        found: list[Event] = [Beats(now_s + link.beat_s, fleet, self.group)] if goes_on else []
        for name in fleet.alive:
            if fleet.places[name] % link.num_beats == self.group:
                found += tell(fleet, fleet.members[name], now_s, link.beat_s)
        return found


@dataclass(slots=True)
class Dies:
    """A member dies."""

    rank: ClassVar[int] = 2
    time_s: float
    fleet: SimulatedFleet
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
    """All owners know that a member is dead, and each asks elsewhere what it had sent there."""

    rank: ClassVar[int] = 3
    time_s: float
    fleet: SimulatedFleet
    name: str

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        lost = [asked for owner in self.fleet.owners for asked in owner.router.leave(self.name)]
        return [event for asked in lost for event in ask(self.fleet, asked, self.time_s)]


@dataclass(slots=True)
class ComesBack:
    """A dead member's next process is ready."""

    rank: ClassVar[int] = 4
    time_s: float
    fleet: SimulatedFleet
    name: str

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        fleet, member = self.fleet, self.fleet.members[self.name]
        member.start()
        fleet.num_coming -= 1
        fleet.alive.add(self.name)
        fleet.join(member.spec)
        homeless, fleet.homeless = fleet.homeless, []
        return [event for asked in homeless for event in ask(fleet, asked, self.time_s)]


@dataclass(slots=True)
class Arrives:
    """A request comes."""

    rank: ClassVar[int] = 5
    time_s: float
    fleet: SimulatedFleet
    asked: Asked

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        return ask(self.fleet, self.asked, self.time_s)


@dataclass(slots=True)
class IsSent:
    """An owner has chosen a member for a request that came at `came_s`, which gets it."""

    rank: ClassVar[int] = 5
    time_s: float
    fleet: SimulatedFleet
    asked: Asked
    came_s: float

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        member = self.fleet.send(self.asked, self.came_s, self.time_s)
        if member is None:
            return []
        if member.step is not None:
            end_s = member.interrupt(self.time_s)
            return [] if end_s is None else [Ends(end_s, self.fleet, member, member.turn)]
        return [Starts(self.time_s, self.fleet, member, member.incarnation)]


@dataclass(slots=True)
class Starts:
    """A member is free to begin a step; last, so that all that come at this time are in it."""

    rank: ClassVar[int] = 6
    time_s: float
    fleet: SimulatedFleet
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
        found = tell(fleet, member, self.time_s, fleet.link.every_s if end_s is not None else 0.0)
        return found if end_s is None else [*found, Ends(end_s, fleet, member, member.turn)]
