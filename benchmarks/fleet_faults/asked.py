"""A relQuery at a fleet, counted reply by reply."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from typing import Any

from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.errors import RelserveError

MAX_TOKENS = 64
PROMPT = "Say something about beer number {}."
PATIENCE_S = 300.0
LOOK_S = 0.002


def prompts(rows: int) -> list[str]:
    """Of so many rows; all runs have the same, and members keep no prefixes."""
    return [PROMPT.format(number) for number in range(rows)]


class RowsUnderWay:
    """It is under way once it is made.

    Attributes:
        num: replies to each row.
        texts: of rows, by index; None of those that failed.
    """

    def __init__(self, engine: Engine, rows: Sequence[str]) -> None:
        self.num, self.texts = Counter[int](), dict[int, str | None]()
        self._rows = rows
        self._began_s = self._ended_s = time.perf_counter()
        self._done: Future[None] = spawn(self._ask(engine))

    async def _ask(self, engine: Engine) -> None:
        submission = Submission(new_rel_id(), self._rows, Sampling(max_tokens=MAX_TOKENS))
        async for replies in engine.answer(submission):
            for reply in replies:
                self.num[reply.index] += 1
                self.texts[reply.index] = reply.text
        self._ended_s = time.perf_counter()

    def wait_for(self, rows: int) -> None:
        """Until so many rows are answered, or all is over."""
        while len(self.num) < rows and not self.is_over:
            time.sleep(LOOK_S)

    @property
    def is_over(self) -> bool:
        """Whether no more replies come."""
        return self._done.done()

    def result(self) -> dict[int, str | None]:
        """The texts, once all is over; raises what the engine raised."""
        self._done.result(PATIENCE_S)
        return self.texts

    def error(self) -> str:
        """What ended it, once all is over; "" where it was answered."""
        try:
            self.result()
        except RelserveError as error:
            return f"{type(error).__name__}: {error}"
        return ""

    @property
    def seconds(self) -> float:
        """From the first to the last reply's coming."""
        return self._ended_s - self._began_s

    @property
    def num_twice(self) -> int:
        """Replies beyond one a row."""
        return sum(num - 1 for num in self.num.values())


class Counting:
    """An engine that counts how often each prompt was answered; see `relserve.engines.protocol.Engine`."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.model = engine, engine.model
        self.num: Counter[str] = Counter()

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        found: str | None = await self._engine.fingerprint()
        return found

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`."""
        async for replies in self._engine.answer(submission):
            self.num.update(submission.prompts[reply.index] for reply in replies)
            yield replies

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._engine.close()


def num_lost(expected: dict[int, str | None], found: dict[int, str | None]) -> int:
    """Rows whose answer is missing, NULL, or not the one engine's."""
    return sum(found.get(row) is None or found[row] != text for row, text in expected.items())
