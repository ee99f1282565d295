"""What one call of a tool may take, and how many calls a user may make."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from relserve.errors import QuotaError
from relserve.server.users.quota import MINUTE, Quota
from relserve.server.users.users import User
from relserve.session.caps import Limits
from relserve.text2sql.guard.limits import DEFAULT, StatementLimits

POLL_S, END_S = 0.02, 10.0  # between two looks whether calls that are to end have ended; the longest wait


@dataclass(frozen=True)
class ToolLimits:
    """See `relserve mcp --help`.

    Attributes:
        rows: of a result, that an agent is shown at most.
        seconds: of DuckDB's work, without the time in which a model is asked.
        asked: rows, tokens and dollars that a call may ask a model for.
        calls_at_once, calls_per_minute: of each user.
    """

    rows: int = 200
    seconds: float = 30.0
    asked: Limits = Limits(rows=1000)  # noqa: RUF009
    calls_at_once: int = 16
    calls_per_minute: int = 240

    @property
    def statement(self) -> StatementLimits:
        """What DuckDB may take; rows are cut where the result is shown."""
        return StatementLimits(self.seconds, DEFAULT.memory_mb, float("inf"), DEFAULT.disk_mb)


class UserCalls:
    """Counts each user's calls: those under way, and those begun in a minute; all in one event loop.

    Args:
        clock: seconds that only grow, such as time.monotonic.
    """

    def __init__(self, limits: ToolLimits, clock: Callable[[], float]) -> None:
        self._limits, self._begun, self._running = limits, Quota(clock), Counter[str]()

    @contextmanager
    def entered(self, user: User) -> Iterator[None]:
        """While inside, a call of the user's is under way.

        Raises:
            QuotaError: the user makes too many calls; says when one more may be made.
        """
        own, most = user.requests_at_once, self._limits.calls_at_once
        most = most if own is None else min(most, own)
        if self._running[user.name] >= most:
            raise QuotaError(f"user {user.name} may have {most} calls at once: wait until one has ended", 1.0)
        per_minute = self._limits.calls_per_minute
        if wait_s := self._begun.wait_s(user.name, per_minute, MINUTE):
            said = f"user {user.name} has made {per_minute} calls in a minute"
            raise QuotaError(f"{said}: wait {math.ceil(wait_s)} seconds", wait_s)
        self._begun.add(user.name, 1)
        self._running[user.name] += 1
        try:
            yield
        finally:
            self._running[user.name] -= 1

    async def all_ended(self) -> None:
        """Wait until no call is under way, or for `END_S`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                while any(self._running.values()):
                    await asyncio.sleep(POLL_S)


def least(first: Limits, second: Limits) -> Limits:
    """The narrower of both, each by itself."""
    pairs = zip(first, second, strict=True)
    return Limits._make(min((each for each in pair if each is not None), default=None) for pair in pairs)
