"""A fleet's status, for `relserve fleet status` and `relserve top`."""

from __future__ import annotations

from math import isfinite

from relserve.engines.fleet.member import FleetMember
from relserve.engines.fleet.roster import Roster
from relserve.machine.fleet_status import FleetStatus, MemberStatus


def status_of(roster: Roster) -> FleetStatus:
    """As of now."""
    waiting = sum([holder.num_waiting for holder in roster.holders])
    members = [_member(roster, each) for each in roster.members.values()]
    return FleetStatus.here(
        model=roster.model, policy=roster.router.policy.name, queries=len(roster.holders), waiting=waiting,
        members=members,
    )  # fmt: skip


def _member(roster: Roster, member: FleetMember) -> MemberStatus:
    age_s, members = roster.age_s(member.name), roster.router.members
    reports = isfinite(age_s)
    queued = int(members["num_waiting"][members.row(member.name)]) if reports else None
    return MemberStatus(
        member.name, member.state.value, member.why, member.spec.url or member.spec.machine or "here",
        member.drained, member.silent, member.num_rows, member.num_answered, member.num_deaths, queued,
        round(age_s, 3) if reports else None, member.reason, dict(member.sent_by),
    )  # fmt: skip
