"""What happens in virtual time, and in which order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Protocol

from lab.simulator.engine import StepWork
from lab.simulator.replica import Replica
from lab.simulator.workload import RelSpec
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.state import Request


class Event(Protocol):
    """Something that happens at `time_s`; at the same time, lower ranks come first."""

    rank: ClassVar[int]
    time_s: float

    def handle(self) -> Iterable[Event]:
        """Do it, and give what follows from it, none of which lies in the past."""


class EventHeap:
    """Events in the order of time, rank, and the sequence in which they were added."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._sequence = count()
        self._heap: list[tuple[float, int, int, Event]] = []
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Events to come."""
        for event in events:
            heapq.heappush(self._heap, (event.time_s, event.rank, next(self._sequence), event))

    def run(self) -> None:
        """Handle every event, and all that follow, until there are none."""
        while self._heap:
            self.add(heapq.heappop(self._heap)[-1].handle())


class SimulatedEngines:
    """The engines of a simulation, and the relQueries that are still to come.

    Args:
        policy: chooses an engine for each relQuery, which stays whole. It sees what each engine has to do.
    """

    def __init__(self, replicas: Sequence[Replica], policy: DispatchPolicy, trace: Sequence[RelSpec]) -> None:
        self.replicas, self._policy, self._members = replicas, policy, MemberTable()
        for number, replica in enumerate(replicas):
            self._members.join(replica.member(str(number)))
        self._upcoming = sorted(trace, key=lambda rel: rel.arrival_s)
        self._num_arrived = 0

    @property
    def arrivals(self) -> list[RelQueryArrival]:
        """One for each relQuery."""
        return [RelQueryArrival(rel.arrival_s, rel, self) for rel in self._upcoming]

    @property
    def next_arrival_s(self) -> float:
        """When the next relQuery comes; infinite after the last."""
        upcoming, number = self._upcoming, self._num_arrived
        return upcoming[number].arrival_s if number < len(upcoming) else float("inf")

    def route(self, rel: RelSpec) -> Replica:
        """The engine that a relQuery goes to, which comes now."""
        self._num_arrived += 1
        for number, replica in enumerate(self.replicas):
            self._members.report(str(number), replica.report(self._num_arrived), rel.arrival_s)
        prompts = sum([len(row.prompt) for row in rel.rows])
        request = Request(prompts, len(rel.rows) * rel.output_cap)
        return self.replicas[self._policy.choose(request, self._members, rel.arrival_s)]


@dataclass(slots=True)
class StepEnd:
    """An engine has computed a step; first, so that whoever comes at this time finds it done."""

    rank: ClassVar[int] = 0
    time_s: float
    fleet: SimulatedEngines
    replica: Replica
    work: StepWork

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        self.replica.end_step(self.work, self.time_s)
        return [StepStart(self.time_s, self.fleet, self.replica)]


@dataclass(slots=True)
class RelQueryArrival:
    """A relQuery comes, and wakes the engine that it is sent to."""

    rank: ClassVar[int] = 1
    time_s: float
    rel: RelSpec
    fleet: SimulatedEngines

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        replica = self.fleet.route(self.rel)
        return [StepStart(self.time_s, self.fleet, replica)] if replica.receive(self.rel) else []


@dataclass(slots=True)
class StepStart:
    """An engine is free to begin a step; last, so that all that come at this time are in it."""

    rank: ClassVar[int] = 2
    time_s: float
    fleet: SimulatedEngines
    replica: Replica

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`. A step in which nothing could be scheduled takes no time."""
        replica, now_s = self.replica, self.time_s
        ready_s = replica.take_in(now_s)
        if ready_s == now_s:
            if replica.sleeps():
                return []
            ready_s = replica.jump(now_s, self.fleet.next_arrival_s)
        if ready_s > now_s:
            return [StepStart(ready_s, self.fleet, replica)]
        work = replica.begin_step(now_s)
        if work.is_empty:
            return [self]
        seconds = replica.spec.cost.step(work.prefill_tokens, work.num_decodes)
        return [StepEnd(now_s + seconds, self.fleet, replica, work)]
