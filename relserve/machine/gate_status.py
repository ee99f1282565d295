"""Who waits at the gates of this machine's engines: a small file that each gate writes, as engines do."""

from __future__ import annotations

from pathlib import Path

from relserve.machine.engine_status import ProcessStatus, StatusRecord, read_statuses


class UserStatus(StatusRecord, frozen=True):
    """One user at a gate.

    Attributes:
        running, waiting: requests, or rows of relQueries.
        admitted, refused: so far.
        estimate_s: seconds until the last of those that wait has probably ended; None: not known.
    """

    user: str
    running: int
    waiting: int
    admitted: int
    refused: int
    estimate_s: float | None = None


class GateStatus(ProcessStatus, frozen=True, tag=1):
    """One gate.

    Attributes:
        policy: that admits.
        written_s: when this was written, in seconds of the wall clock.
        places: requests that may run at most; None: not known before the engine is up.
        reason: why the latest who had to wait did.
        speed: tokens a second that each of those that run gets, by the curve; None: nothing is measured.
        error: median relative error of the curve's latest predictions.
        users: those who wait or run, or did.
    """

    model: str
    policy: str
    written_s: float
    places: int | None
    reason: str
    speed: float | None
    error: float
    users: list[UserStatus]


def read_gates(folder: Path) -> list[GateStatus]:
    """The gates of running processes, by pid; removes what processes left that have ended."""
    return read_statuses(folder, "gate", GateStatus)
