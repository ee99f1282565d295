"""What the fleets of this machine are doing: a small file that each owner writes, as engines do."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from relserve.machine.engine_status import read_statuses, started_at

FORMAT = 2


class MemberStatus(NamedTuple):
    """One member.

    Attributes:
        state: "starting", "up", "dead" or "refused".
        why: it is not up.
        where: a URL, a Ray node, or "here".
        rows, answered: that it has now, and has answered so far.
        deaths: so far.
        queued: requests that wait in it, by its latest report; None: it does not report.
        age_s: of that report.
        reason: of the latest choice of it.
        sent: rows and requests that it has got so far, by the reason of their choice.
    """

    name: str
    state: str
    why: str
    where: str
    drained: bool
    silent: bool
    rows: int
    answered: int
    deaths: int
    queued: int | None
    age_s: float | None
    reason: str
    sent: dict[str, int]

    @property
    def shown(self) -> str:
        """Its state in a word or two."""
        return ", ".join(
            [self.state, *(["drained"] if self.drained else []), *(["silent"] if self.silent else [])]
        )


class FleetStatus(NamedTuple):
    """One fleet.

    Attributes:
        pid, started: of its owner's process, as of `EngineStatus`.
        policy: of dispatch.
        written_s: when this was written, in seconds of the wall clock.
        queries: relQueries and requests of OpenAI clients under way; `waiting` of their rows are with no
            member yet.
    """

    pid: int
    started: int | None
    model: str
    policy: str
    written_s: float
    queries: int
    waiting: int
    members: list[MemberStatus]

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"format": FORMAT, **self._asdict(), "members": [each._asdict() for each in self.members]}

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> FleetStatus:
        """What `as_dict` gave; raises ValueError or TypeError for anything else."""
        if found.get("format") != FORMAT:
            raise ValueError("not a status of this format")
        fields = {name: value for name, value in found.items() if name != "format"}
        return cls(**{**fields, "members": [MemberStatus(**each) for each in fields["members"]]})


def read_fleets(folder: Path) -> list[FleetStatus]:
    """The fleets of running processes, by pid; removes what processes left that have ended."""
    return read_statuses(folder, "fleet", FleetStatus.of_dict)


def here(model: str, policy: str, queries: int, waiting: int, members: list[MemberStatus]) -> FleetStatus:
    """The status of a fleet of this process, as of now."""
    pid = os.getpid()
    return FleetStatus(pid, started_at(pid), model, policy, time.time(), queries, waiting, members)
