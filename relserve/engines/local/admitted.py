"""The rows of a submission at a gate."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Sequence
from functools import cache

from relserve.call.relquery import Reply, Submission
from relserve.gate.gate import Gate
from relserve.gate.rows import GatedRows
from relserve.gate.ticket import Ticket


class Admitted:
    """Which rows of a submission run, each with its ticket.

    Args:
        num_said: tokens that a request has said so far; default: that is not seen.
    """

    def __init__(
        self, gate: Gate, submission: Submission, num_said: Callable[[str], int] = lambda request_id: 0
    ) -> None:
        self._gate, self._submission, self._num_said = gate, submission, num_said
        self._rows: GatedRows | None = None
        self._tickets: dict[int, Ticket] = {}
        self._asked: dict[int, tuple[int, Sequence[str]]] = {}  # tokens said before, and who says more now

    def come(self, num_rows: int) -> None:
        """So many rows want to start."""
        submission = self._submission
        sampling = submission.sampling
        most = sampling.output_cap if sampling.likely is None else min(sampling.likely, sampling.output_cap)
        self._rows = GatedRows(self._gate, submission, num_rows, submission.user or user_here(), most)
        self._gate.meters.add(self._measure)

    async def take(self, indices: Sequence[int]) -> int:
        """Wait until the first of these rows may start; how many of them may.

        Raises:
            AdmissionError: the deadline has passed.
        """
        assert self._rows is not None
        tickets = await self._rows.take(len(indices))
        self._tickets.update(zip(indices, tickets, strict=False))
        return len(tickets)

    def asks(self, index: int, request_ids: Sequence[str]) -> None:
        """These requests are about a row, after those before them have ended."""
        before = self._tickets[index].said if index in self._tickets else 0.0
        self._asked[index] = int(before), request_ids

    def ended(self, index: int, reply: Reply | None) -> None:
        """A row has its reply, or was given up."""
        ticket = self._tickets.pop(index, None)
        self._asked.pop(index, None)
        if ticket is None or self._rows is None:
            return
        if reply is None:
            self._rows.gone(ticket)
        else:
            self._rows.done(ticket, reply.usage.output_tokens)

    def leave(self) -> None:
        """Give up what waits and runs."""
        self._gate.meters.discard(self._measure)
        if self._rows is not None:
            self._rows.leave()

    def _measure(self) -> None:
        for index, (before, request_ids) in list(self._asked.items()):
            if (ticket := self._tickets.get(index)) is not None:
                said = sum(map(self._num_said, request_ids))
                ticket.progress(max(before + said, ticket.said))


@cache
def user_here() -> str:
    """The name of the user whose process this is, as far as the system tells."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
