"""An engine that answers some rows of a submission at once, and the others never."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine, echo

ANSWERED = 5
LIMIT_S = 2.0  # in which any machine answers so many


class StallingEngine(ScriptedEngine):
    """It gives the first ANSWERED replies, and then waits until it is told to give up."""

    def __init__(self) -> None:
        super().__init__(echo, chunk=ANSWERED)

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        async with aclosing(super().answer(submission)) as replies:
            yield await anext(replies)
            await asyncio.Event().wait()
