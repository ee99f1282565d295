"""Serve requests by a fleet: arrivals, steps, late reports, members that die and come back."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lab.simulator.events import Event, EventHeap
from lab.simulator.fleet.events import Arrives, Beats, Death, Dies
from lab.simulator.fleet.fleet import SimulatedFleet
from lab.simulator.fleet.member import SimulatedMemberSpec
from lab.simulator.fleet.owner import LINK, ONE, Link, Owners
from lab.simulator.fleet.requests import FleetOutcome, FleetRequest, ServedFleetRequest
from relserve.policies.dispatch.policy import DispatchPolicy

__all__ = [
    "LINK",
    "ONE",
    "Death",
    "FleetOutcome",
    "FleetRequest",
    "Link",
    "Owners",
    "ServedFleetRequest",
    "simulate",
]


def simulate(
    requests: Sequence[FleetRequest], members: Sequence[SimulatedMemberSpec], policy: DispatchPolicy,
    link: Link = LINK, seed: int = 0, deaths: Sequence[Death] = (), owners: Owners = ONE,
    may_jump: bool = False,
) -> FleetOutcome:  # fmt: skip
    """Serve every request.

    Args:
        policy: of the first owner; others have a copy of their own.
        seed: of the noise of steps.
        may_jump: whether steps that decode the same rows are taken together, which is many times quicker and
            no more the same: budget policies are not asked and not told of them, members report only between
            such steps and when they would have said nothing for `link.beat_s`, and none hiccups.

    Raises:
        ValueError: no member is left and none comes back; there is no owner.
    """
    if owners.number < 1:
        raise ValueError("a fleet has one owner at least")
    started = time.perf_counter()
    fleet = SimulatedFleet(sorted(requests, key=_arrival), members, policy, link, seed, owners, may_jump)
    groups = range(link.num_beats)
    events: list[Event] = [Beats(link.beat_s * i / len(groups) - link.delay_s, fleet, i) for i in groups]
    events += [Arrives(fleet.served(asked).spec.arrival_s, fleet, asked) for asked in fleet.asked()]
    EventHeap([*events, *[Dies(death.at_s, fleet, death) for death in deaths]]).run()
    if fleet.homeless:
        raise ValueError(f"{len(fleet.homeless)} requests found no member")
    fleet.outcome.num_steps = sum(member.num_steps for member in fleet.members.values())
    fleet.outcome.wall_s = time.perf_counter() - started
    return fleet.outcome


def _arrival(request: FleetRequest) -> float:
    return request.arrival_s
