"""The rows of batches on their way to the engine: a few at a time, behind everybody else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from relserve.call.rel_tag import BACKGROUND
from relserve.server.openai.batches.store import (
    KINDS,
    RUNNING,
    BatchLine,
    BatchStore,
    StoredBatch,
    as_line,
    came_id,
    is_good,
    private,
)

ROWS_AT_ONCE = 16  # at the engine, of all batches: its scheduler puts them last, and they take slots
BATCHES_AT_ONCE = 2  # of one user, whose rows are in memory; the others wait
AGAIN = (429, 503)  # of a user's quota, a full engine, or none: the row waits
FORGET_EVERY_S = 3600.0  # between two looks for what is too old
LEAST_WAIT_S, MOST_WAIT_S = 1.0, 60.0
EXPIRED = {"code": "batch_expired", "message": "the batch expired before this request was answered"}

logger = logging.getLogger(__name__)


class RowReply(NamedTuple):
    """What a request of a batch was answered, and after how many seconds to ask again."""

    status: int
    body: Any
    retry_s: float | None = None


AskRow = Callable[[str, str, dict[str, Any], dict[str, Any]], Awaitable[RowReply]]


class _Slot:
    """A place among the rows at the engine."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots, self._is_held = slots, False

    async def take(self) -> None:
        await self._slots.acquire()
        self._is_held = True

    def give(self, _: object = None) -> None:
        if self._is_held:
            self._is_held = False
            self._slots.release()


class BatchRunner:
    """Answers batches until they are done; all in one event loop.

    Args:
        ask: has a row answered: by whom, the path, the body, and tags for the scheduler.
    """

    def __init__(self, store: BatchStore, ask: AskRow) -> None:
        self._store, self._ask = store, ask
        self._slots = asyncio.Semaphore(ROWS_AT_ONCE)
        self._turns = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(BATCHES_AT_ONCE))
        self._running: dict[str, tuple[StoredBatch, asyncio.Task[None]]] = {}
        self._forgetting: asyncio.Task[None] | None = None

    def resume(self) -> None:
        """Go on with what a server before this one left; what is old is forgotten, now and later."""
        self._forgetting = asyncio.create_task(self._forget_old())
        for batch in reversed(self._store.batches()):
            if batch.status in RUNNING:
                self.begin(batch)

    def begin(self, batch: StoredBatch) -> None:
        """Have a batch answered."""
        task = asyncio.create_task(self._run(batch))
        self._running[batch.id] = batch, task
        task.add_done_callback(lambda _: self._forget(batch, task))

    def find(self, batch_id: str) -> StoredBatch | None:
        """A batch that is under way, as it stands now."""
        found = self._running.get(batch_id)
        return found[0] if found else None

    def cancel(self, batch: StoredBatch) -> None:
        """Give up what has no answer yet."""
        batch.status = "cancelling"
        self._store.put_batch(batch)
        found = self._running.get(batch.id)
        if found is None or found[1].done():  # it went no further, as the log says
            self.begin(batch)
        else:
            found[1].cancel()

    def _forget(self, batch: StoredBatch, task: asyncio.Task[None]) -> None:
        """A batch's task has ended; another may have begun since."""
        if self._running.get(batch.id) == (batch, task):
            del self._running[batch.id]

    async def _forget_old(self) -> None:
        while True:
            try:
                self._store.forget_old()  # in the loop, where no batch begins meanwhile
            except (sqlite3.Error, OSError):
                logger.exception("old files of batches are still there; they are tried again later")
            await asyncio.sleep(FORGET_EVERY_S)

    async def close(self) -> None:
        """End; the batches go on with the next server."""
        tasks = [task for _, task in self._running.values()]
        tasks += [] if self._forgetting is None else [self._forgetting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, batch: StoredBatch) -> None:
        try:
            try:
                if batch.status != "cancelling":
                    async with self._turns[batch.user]:
                        await self._answer(batch)
                    return
            except asyncio.CancelledError:
                if batch.status != "cancelling":  # the server ends
                    raise
            await asyncio.to_thread(self._store.count, batch)  # it may not have been counted yet
            self._store.end(batch, "cancelled")
        except Exception:
            logger.exception("batch %s does not go on; the next start of the server tries it again", batch.id)

    async def _answer(self, batch: StoredBatch) -> None:
        lines = await asyncio.to_thread(self._store.lines_left, batch)
        left = {line.custom_id for line in lines}
        with contextlib.ExitStack() as stack:
            files = {
                is_answer: stack.enter_context(
                    open(self._store.path(came_id(batch, kind)), "ab", buffering=0, opener=private)
                )
                for is_answer, kind in zip((True, False), KINDS, strict=True)
            }

            def put(line: BatchLine, reply: RowReply) -> None:
                answered = is_good(reply.status)
                files[answered].write(as_line(line.custom_id, reply.status, reply.body))
                batch.completed, batch.failed = batch.completed + answered, batch.failed + (not answered)
                left.discard(line.custom_id)

            try:
                async with asyncio.timeout(batch.expires - time.time()):
                    await self._answer_all(batch, lines, put)
            except TimeoutError:
                files[False].write(b"".join(as_line(each, None, None, EXPIRED) for each in sorted(left)))
                batch.failed += len(left)
        self._store.end(batch, "expired" if left else "completed")

    async def _answer_all(
        self, batch: StoredBatch, lines: list[BatchLine], put: Callable[[BatchLine, RowReply], None]
    ) -> None:
        tags = {"rel_id": batch.id, "rel_rows": len(lines), BACKGROUND: 1}
        own = asyncio.Semaphore(ROWS_AT_ONCE)  # rows that wait to ask again let no others try in vain
        async with asyncio.TaskGroup() as group:
            for line in lines:
                await own.acquire()
                slot = _Slot(self._slots)
                await slot.take()
                task = group.create_task(self._row(batch, line, tags, put, slot))
                # In callbacks, since a task cancelled before its first step runs no `finally`.
                task.add_done_callback(slot.give)
                task.add_done_callback(lambda _: own.release())

    async def _row(
        self,
        batch: StoredBatch,
        line: BatchLine,
        tags: dict[str, Any],
        put: Callable[[BatchLine, RowReply], None],
        slot: _Slot,
    ) -> None:
        """Ask one row until it has an answer; it gives its slot while it waits to ask again."""
        while (reply := await self._ask(batch.user, batch.endpoint, line.body, tags)).status in AGAIN:
            slot.give()
            await asyncio.sleep(min(max(reply.retry_s or LEAST_WAIT_S, LEAST_WAIT_S), MOST_WAIT_S))
            await slot.take()
        put(line, reply)
