"""What the fleets of this machine are doing: a small file that each owner writes, as engines do."""

from __future__ import annotations

from pathlib import Path

from relserve.machine.engine_status import ProcessStatus, StatusRecord, read_statuses


class MemberStatus(StatusRecord, frozen=True):
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


class FleetStatus(ProcessStatus, frozen=True, tag=2):
    """One fleet.

    Attributes:
        policy: of dispatch.
        written_s: when this was written, in seconds of the wall clock.
        queries: relQueries and requests of OpenAI clients under way; `waiting` of their rows are with no
            member yet.
    """

    model: str
    policy: str
    written_s: float
    queries: int
    waiting: int
    members: list[MemberStatus]


def read_fleets(folder: Path) -> list[FleetStatus]:
    """The fleets of running processes, by pid; removes what processes left that have ended."""
    return read_statuses(folder, "fleet", FleetStatus)
