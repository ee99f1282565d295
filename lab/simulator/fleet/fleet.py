"""The members of a simulated fleet, its owners, and what has become of each request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from math import inf
from zlib import crc32

from lab.simulator.fleet.member import SimMember, SimulatedMemberSpec
from lab.simulator.fleet.owner import Link, Owners, SimulatedOwner
from lab.simulator.fleet.requests import FleetOutcome, FleetRequest, ServedFleetRequest
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.router import Asked, Router
from relserve.policies.dispatch.state import Report


class SimulatedFleet:
    """What `events` happen to.

    Args:
        policy: of the first owner; others have a copy of their own, which begins alike: several owners that
            take members in turn, or at random, all begin with the same one.

    Attributes:
        places: of members by name, from 0 on.
        alive: names of the members that are.
        homeless: requests that found no member, in the order in which they came.
        num_left: requests that were not answered yet.
        num_coming: dead members that will come back.
    """

    def __init__(
        self, requests: Sequence[FleetRequest], members: Sequence[SimulatedMemberSpec],
        policy: DispatchPolicy, link: Link, seed: int, owners: Owners, may_jump: bool,
    ) -> None:  # fmt: skip
        self.link = link
        policies = [policy, *[deepcopy(policy) for _ in range(1, owners.number)]]
        self.owners = [SimulatedOwner(i, Router(policy), owners) for i, policy in enumerate(policies)]
        self.members = {
            spec.name: SimMember(spec, 7919 * seed + i, may_jump) for i, spec in enumerate(members)
        }
        self.places = {name: place for place, name in enumerate(self.members)}
        self.alive = set(self.members)
        self.outcome = FleetOutcome([ServedFleetRequest(request) for request in requests])
        self.homeless: list[Asked] = []
        self.num_left, self.num_coming = len(requests), 0
        for spec in members:
            self.join(spec)

    def join(self, spec: SimulatedMemberSpec) -> None:
        """A member is there, which all owners learn at once."""
        for owner in self.owners:
            owner.router.join(spec.member)

    def asked(self) -> list[Asked]:
        """Every request, as it comes to its owner."""
        return [
            Asked(
                str(i), spec.num_prompt, inf, spec.ttft_slo_s, spec.tpot_slo_s, "", spec.session,
                spec.shared_tokens,
            )
            for i, spec in enumerate(each.spec for each in self.outcome.served)
        ]  # fmt: skip

    def served(self, asked: Asked) -> ServedFleetRequest:
        """What became of that request."""
        return self.outcome.served[int(asked.request_id)]

    def owner(self, asked: Asked) -> SimulatedOwner:
        """Whose a request is: a session stays with one owner, other requests take turns."""
        key = crc32(asked.session.encode()) if asked.session else int(asked.request_id)
        return self.owners[key % len(self.owners)]

    def send(self, asked: Asked, came_s: float, now_s: float) -> SimMember | None:
        """The owner sends a request that came to it at `came_s`; gives the member that has it.

        One that finds no member stays `homeless`; one that is sent to a dead member is lost until its owner
        knows.
        """
        owner = self.owner(asked)
        if not len(owner.router.members):
            self.homeless.append(asked)
            return None
        started = time.perf_counter()
        name, number = owner.router.send(asked, now_s)
        self.outcome.choices_s.append(time.perf_counter() - started)
        self.outcome.waits_s.append(now_s - came_s)
        served = self.served(asked)
        served.attempts += 1
        if name not in self.alive:
            return None
        member = self.members[name]
        gone_s = now_s - served.spec.arrival_s
        member.receive(asked, served.spec.num_output, number, gone_s, now_s, owner.number)
        return member

    def finish(self, member: SimMember, now_s: float) -> None:
        """What a member began is over, and so are requests; their owners know at once."""
        for done in member.finish(now_s):
            served = self.served(done.asked)
            self.num_left -= not served.answers
            served.member, served.answers = member.spec.name, served.answers + 1
            served.first_s, served.ended_s = done.first_s, done.ended_s
            self.owner(done.asked).router.ended(done.asked.request_id, now_s, done.num_output)

    def reports(self, member: SimMember, now_s: float, every_s: float) -> list[tuple[SimulatedOwner, Report]]:
        """A member's reports to those owners that it has told nothing for so long."""
        name = member.spec.name
        due = [owner for owner in self.owners if now_s - owner.told_s.get(name, -inf) >= every_s]
        for owner in due:
            owner.told_s[name] = now_s
        self.outcome.num_reports += len(due)
        return list(zip(due, member.reports([owner.number for owner in due]), strict=True)) if due else []
