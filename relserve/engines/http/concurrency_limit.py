"""How many requests may be at a server at once, and when none may be sent."""

from __future__ import annotations

import asyncio
from collections import deque

GROWTH = 0.125  # slots won back per answer: after a cut, the number doubles in about six rounds
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0


class ConcurrencyLimit:
    """A semaphore that shrinks when the server says that it is too much, and grows with each answer.

    Slots are given first come, first served. A relQuery has one waiter however many rows it has left, so
    relQueries take turns and a short one is not stuck behind the rows of a long one.

    Attributes:
        num_inside: requests at the server now.
        num_answered: requests that the server has dealt with so far, a sign that it gets on.
        num_refusals: how often it said, since its last answer, that it is too much.
        num_lost_in_a_row: requests given up since the last answer.
    """

    def __init__(self, limit: int) -> None:
        self._most = limit
        self._limit = float(limit)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._timer: asyncio.TimerHandle | None = None  # set while somebody waits for a pause to end
        self.num_refusals = 0
        self.num_inside = 0
        self.num_answered = 0
        self.num_lost_in_a_row = 0

    @property
    def limit(self) -> int:
        """How many requests may be at the server at present."""
        return int(self._limit)

    async def enter(self) -> None:
        """Wait for a slot; whoever enters must `leave`."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        self._admit()
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():  # let in and cancelled at the same moment
                self.leave()
            raise

    def leave(self) -> None:
        """Give the slot back."""
        self.num_inside -= 1
        self._admit()

    def answered(self) -> None:
        """The server has dealt with a request."""
        self.num_answered += 1
        self.num_lost_in_a_row = 0
        self.num_refusals = 0
        self._limit = min(float(self._most), self._limit + GROWTH)

    def refused(self, entered_s: float, retry_after_s: float | None) -> None:
        """The server said that it is too much to a request that entered at `entered_s` of the loop's clock.

        Halves the slots, once for all the requests that were on their way together, and lets none in for
        as long as the server asked, or for a time that grows with each refusal.
        """
        loop = asyncio.get_running_loop()
        if entered_s >= self._paused_until:
            pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self.num_refusals)
            self.num_refusals += 1
            self._limit = max(1.0, self._limit / 2)
            self._pause(loop.time() + (retry_after_s or pause_s))
        elif retry_after_s:
            self._pause(loop.time() + retry_after_s)

    def _pause(self, until_s: float) -> None:
        if until_s > self._paused_until:
            self._paused_until = until_s

    def _end_pause(self) -> None:
        self._timer = None
        self._admit()

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._paused_until:
            if self._timer is None or self._timer.when() != self._paused_until:
                self._timer = loop.call_at(self._paused_until, self._end_pause)
            return
        while self._waiting and self.num_inside < self.limit:
            slot = self._waiting.popleft()
            if not slot.done():
                self.num_inside += 1
                slot.set_result(None)
