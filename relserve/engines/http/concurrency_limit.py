"""How many requests may be at a server at once, and when none may be sent."""

from __future__ import annotations

import asyncio
from collections import deque

CANARY, FIRST = 1, 8  # slots at a server that one may have to pay: until its first answer, and after it
CANARY_S = 5.0  # refusals come sooner, and a long answer is not waited for
IN_TIME = 3.0  # times the mean of the first answers: longer ones say that the server is busy enough
GROWTH = 0.125  # slots won back per answer: after a cut, the number doubles in about six rounds
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0


class ConcurrencyLimit:
    """A semaphore that shrinks when the server says that it is too much, and grows with each answer.

    Slots are given first come, first served. A relQuery has one waiter however many rows it has left, so
    relQueries take turns and a short one is not stuck behind the rows of a long one.

    Args:
        limit: most slots.
        is_careful: one request goes alone, for a wrong key, an empty quota or a parameter that is refused
            show in the first answer. After it, or after `CANARY_S`, there are `FIRST` slots, and one more for
            each answer that comes in time, until the server first says that it is too much.

    Attributes:
        most: slots that there may be.
        num_inside: requests at the server now.
        num_answered: requests that the server has dealt with so far, a sign that it gets on.
        num_refusals: how often it said, since its last answer, that it is too much.
        num_lost_in_a_row: requests given up since the last answer.
    """

    def __init__(self, limit: int, is_careful: bool = False) -> None:
        self.most = limit
        self._limit = float(min(CANARY, limit) if is_careful else limit)
        self._is_careful, self._first_s = is_careful, list[float]()
        self._opening: asyncio.TimerHandle | None = None  # set while the first request is alone
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

    def answered(self, entered_s: float | None = None) -> None:
        """The server has dealt with a request that was sent at `entered_s` of the loop's clock."""
        self.num_answered += 1
        self.num_lost_in_a_row = 0
        self.num_refusals = 0
        growth = GROWTH
        if self._is_careful and entered_s is not None:
            growth = self._careful_growth(asyncio.get_running_loop().time() - entered_s)
        self._limit = min(float(self.most), self._limit + growth)
        self._admit()

    def _careful_growth(self, took_s: float) -> float:
        """Slots more after an answer that took so long."""
        if self.limit < FIRST:
            return max(0.0, min(FIRST, self.most) - self._limit)
        if len(self._first_s) < FIRST:
            self._first_s.append(took_s)
            return 0.0
        return 1.0 if took_s <= IN_TIME * sum(self._first_s) / FIRST else 0.0

    def refused(self, entered_s: float, retry_after_s: float | None) -> None:
        """The server said that it is too much to a request that entered at `entered_s` of the loop's clock.

        Halves the slots, once for all the requests that were on their way together, and lets none in for
        as long as the server asked, or for a time that grows with each refusal.
        """
        loop = asyncio.get_running_loop()
        self._is_careful = False  # what is too much is known now
        if self._opening is not None:
            self._opening.cancel()
        if entered_s >= self._paused_until:
            pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self.num_refusals)
            self.num_refusals += 1
            self._limit = max(1.0, self._limit / 2)
            self._pause(loop.time() + (retry_after_s or pause_s))
        elif retry_after_s:
            self._pause(loop.time() + retry_after_s)

    def _open(self) -> None:
        """The first request takes long: it was not refused."""
        self._limit = max(self._limit, float(min(FIRST, self.most)))
        self._admit()

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
        if self._is_careful and self._opening is None and self.num_inside:
            self._opening = loop.call_later(CANARY_S, self._open)
