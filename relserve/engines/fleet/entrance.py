"""The rows of a submission pass the fleet's gate, a few at a time, before members get them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from relserve.call.relquery import Reply, Submission
from relserve.engines.fleet.supply import Supply
from relserve.engines.local.admitted import Admitted
from relserve.errors import AdmissionError, Failure, FailureKind
from relserve.gate.gate import Gate

MOST = 256  # rows that are let in at once


class Entrance:
    """Rows come to the supply as the gate lets them in, all at once where it is open.

    How far members' rows are is not seen here: to the gate whole answers tell of speeds.

    Args:
        supply: without its rows, unless the gate is open.
        news: called when rows have come in, or were turned away.
        take: takes the reply of a row that is not let in before its deadline.
        over: told that no more rows come, by the task that let them in, whatever ended it.
    """

    def __init__(
        self, gate: Gate, submission: Submission, supply: Supply, news: Callable[[], None],
        take: Callable[[int, Reply], None], over: Callable[[asyncio.Task[None]], None],
    ) -> None:  # fmt: skip
        self._supply, self._news, self._take, self._over = supply, news, take, over
        self._admitted = None if gate.is_open else Admitted(gate, submission)
        self._feeding: asyncio.Task[None] | None = None
        self.num_waiting = 0 if gate.is_open else len(submission.prompts)

    def open(self) -> None:
        """The rows come."""
        if self._admitted is not None:
            self._feeding = asyncio.ensure_future(self._feed(self._admitted))
            self._feeding.add_done_callback(self._over)

    def ended(self, row: int, reply: Reply) -> None:
        """A row has its reply."""
        if self._admitted is not None:
            self._admitted.ended(row, reply)

    def leave(self) -> None:
        """Give up what waits and runs."""
        if self._feeding is not None:
            self._feeding.cancel()
        if self._admitted is not None:
            self._admitted.leave()

    async def _feed(self, admitted: Admitted) -> None:
        rows = self._supply.order
        admitted.come(len(rows))
        begin = 0
        while begin < len(rows):
            try:
                num = await admitted.take(rows[begin : begin + MOST])
            except AdmissionError as error:
                self.num_waiting = 0
                late = Failure(FailureKind.DEADLINE, str(error))
                for row in rows[begin:]:
                    self._take(row, Reply(row, None, late, is_unsent=True))
                self._news()
                return
            self._supply.let_in(rows[begin : begin + num])
            begin += num
            self.num_waiting -= num
            self._news()
