"""Rows that one member is asked together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from relserve.engines.fleet.member import FleetMember
from relserve.engines.protocol import Engine


@dataclass(eq=False)
class Instalment:
    """See the module.

    Attributes:
        life: of the member, in which it was sent.
        rows: indices in the submission, in the order in which they are asked.
        left: those that have no answer, from it or another.
        serial: its number.
        alone: the member has nothing else meanwhile; see `Quarantine`.
    """

    member: FleetMember
    life: int
    engine: Engine
    rows: list[int]
    left: set[int]
    sent_s: float
    serial: int
    alone: bool = False
    task: asyncio.Task[None] | None = field(default=None, repr=False)
