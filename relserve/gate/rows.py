"""The rows of one relQuery at a gate: they wait as one request_group, and start a few at a time."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress

from relserve.call.relquery import Submission
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.errors import AdmissionError
from relserve.gate.gate import Gate
from relserve.gate.request_group import Permit
from relserve.policies.admission.request import LONGEST_S

LEAST_S = 0.001


class GatedRows:
    """For one event loop. `leave` has to be called at the end, come what may.

    Args:
        submission: whose rows they are; it says where they stand to whoever it was told to tell.
        num_rows: of it, that are to be asked.
        user: whose share they count against.
        output_cap: the most tokens that the answer of a row may have.
    """

    def __init__(self, gate: Gate, submission: Submission, num_rows: int, user: str, output_cap: int) -> None:
        self._gate, self._loop, self._news = gate, asyncio.get_running_loop(), asyncio.Event()
        self._ready: deque[Permit] = deque()
        self._error: AdmissionError | None = None
        chars = sum(map(len, submission.prompts)) / max(len(submission.prompts), 1)
        self._group = gate.request_group(
            user, chars / CHARS_A_TOKEN, output_cap, _seconds_left(submission.deadline_s),
            submission.kind or "", self._started, self._refused, submission.told, num_rows,
        )  # fmt: skip
        gate.come(self._group)

    async def take(self, most: int) -> list[Permit]:
        """Permits for the next rows, at least one and at most so many.

        Raises:
            AdmissionError: the deadline has passed; no row starts any more.
        """
        while not self._ready:
            if self._error is not None:
                raise self._error
            await self._news.wait()
            self._news.clear()
        return [self._ready.popleft() for _ in range(min(most, len(self._ready)))]

    def done(self, permit: Permit, tokens: float) -> None:
        """A row has ended, having said so many tokens."""
        permit.num_output_tokens = tokens
        self._gate.done(self._group, permit)

    def gone(self, permit: Permit) -> None:
        """A row was given up."""
        self._gate.gone(self._group, permit)

    def leave(self) -> None:
        """Give up what waits and runs."""
        self._gate.leave(self._group)

    def _started(self, permit: Permit) -> None:
        self._ready.append(permit)
        self._tell()

    def _refused(self, error: AdmissionError) -> None:
        self._error = error
        self._tell()

    def _tell(self) -> None:
        with suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._news.set)


def _seconds_left(deadline_s: float | None) -> float | None:
    """A limit, whatever the wall clock says: what is over ends soon, what is absurdly far is far."""
    return None if deadline_s is None else min(max(deadline_s - time.time(), LEAST_S), LONGEST_S)
