"""Rows that one member is asked together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from relserve.call.relquery import Submission
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.engines.fleet.member import FleetMember
from relserve.engines.protocol import Engine
from relserve.errors import EngineDeadError
from relserve.machine import traces
from relserve.policies.dispatch.router import Asked

Ask = Callable[["Instalment", Submission], Awaitable[None]]


@dataclass(eq=False)
class Instalment:
    """See the module.

    Attributes:
        life: of the member, in which it was sent.
        rows: indices in the submission, in the order in which they are asked.
        left: those that have no answer, from it or another; of one that has ended, none.
        num_answered: rows that it answered itself, the first of all that were asked.
        serial: its number.
        alone: the member has nothing else meanwhile; see `Quarantine`.
        reason: of the choice of the member.
    """

    member: FleetMember
    life: int
    engine: Engine
    rows: list[int]
    left: set[int]
    sent_s: float
    serial: int
    alone: bool = False
    reason: str = ""
    num_answered: int = 0
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    async def traced(self, ask: Ask, part: Submission) -> None:
        """Ask, in a span of its own where somebody traces."""
        about = {
            "relserve.rel_id": part.rel_id, "relserve.member": self.member.name,
            "relserve.rows": len(self.rows), "relserve.reason": self.reason,
        }  # fmt: skip
        with traces.within(part.trace), traces.span("relserve.instalment", about) as span:
            trace = part.trace and (traces.carried() or part.trace)  # of who asks, where nobody traces here
            try:
                await ask(self, replace(part, trace=trace))
            finally:
                has_died = self.member.life != self.life
                unanswered = len(self.rows) - self.num_answered
                span.put({"relserve.unanswered_rows": unanswered, "relserve.member_died": has_died})
                if has_died:
                    span.fail(EngineDeadError)


def as_asked(submission: Submission, row: int, serial: int, num_shared: int) -> Asked:
    """A row as the router knows it.

    Args:
        serial: of its instalment; 0: it has none yet.
        num_shared: characters with which all its prompts begin.
    """
    slo = submission.slo
    ttft_s = inf if slo is None or slo.ttft_s is None else slo.ttft_s
    tpot_s = inf if slo is None or slo.tpot_s is None else slo.tpot_s
    return Asked(
        f"{submission.rel_id}.{serial}.{row}",
        max((len(submission.prompts[row]) + len(submission.lead)) / CHARS_A_TOKEN, 1.0),
        submission.sampling.output_cap, ttft_s, tpot_s, submission.kind or "", submission.rel_id,
        (num_shared + len(submission.lead)) / CHARS_A_TOKEN,
    )  # fmt: skip


Held = Mapping[int, list[Instalment]]  # who has a row, by row


def by_lateness(held: Held, left_s: Mapping[Instalment, float]) -> list[tuple[Instalment, list[int]]]:
    """Rows by who would answer them first, the latest first; those that are asked alone are left out.

    Args:
        left_s: seconds until an instalment is answered.
    """
    best: dict[Instalment, list[int]] = {}
    for row, holders in held.items():
        if not holders[0].alone:
            best.setdefault(min(holders, key=left_s.__getitem__), []).append(row)
    return sorted(best.items(), key=lambda each: -left_s[each[0]])


def unheard(out: Iterable[Instalment], held: Held) -> list[int]:
    """Rows that nobody has but members that say nothing; those that are asked alone are left out.

    Args:
        out: all who have rows.
    """
    if not any(its.member.silent for its in out):
        return []
    return [row for row, of in held.items() if not of[0].alone and all(its.member.silent for its in of)]
