"""What engines have in common that ask another one several times about each prompt."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.call.relquery import Reply, RowTimes, Usage
from relserve.engines.protocol import Engine
from relserve.errors import Failure, FailureKind


class WrappedEngine:
    """The other engine's name and identity; see `Engine`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def model(self) -> str:
        return self._engine.model

    @property
    def embeds(self) -> bool:
        """Whether it gives vectors."""
        return getattr(self._engine, "embeds", False)

    @property
    def own_blocks(self) -> tuple[int, ...]:
        """See `own_limits` of `in_blocks`."""
        return getattr(self._engine, "own_blocks", ())

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        return await self._engine.fingerprint()

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._engine.close()


def together(index: int, replies: Sequence[Reply]) -> Reply:
    """What all replies to a prompt have in common: the sum of their usage, and their times.

    These go from when the first was queued until the last was answered.
    """
    usage = Usage.total(reply.usage for reply in replies)
    times = _times_of([reply.times for reply in replies if reply.times is not None])
    return Reply(index, "", usage=usage, times=times)


def failure_of(reply: Reply) -> Failure | None:
    """Why a reply has no text."""
    if reply.failure is None and reply.text is None:
        return Failure(FailureKind.ENGINE, "no reply")
    return reply.failure


def _times_of(times: Sequence[RowTimes]) -> RowTimes | None:
    if not times:
        return None
    return RowTimes(
        min(each.queued_s for each in times), min(each.scheduled_s for each in times),
        max(each.first_token_s for each in times), max(each.last_token_s for each in times),
        sum(each.preemptions for each in times),
    )  # fmt: skip
