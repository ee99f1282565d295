"""Replies on their way from an engine: taken by any thread or event loop, given up, or cut by a deadline."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import replace
from functools import partial

from relserve.call.relquery import Reply, Submission
from relserve.call.standing import Standing
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.errors import Cancelled, Failure, FailureKind, RelserveError
from relserve.machine import traces

POLL_S = 0.05  # how often a thread that waits for replies looks at its cancel event

Inbox = queue.SimpleQueue[list[Reply] | None]

INTERRUPTED = "the query was interrupted; its requests were aborted"


class PendingReplies:
    """The replies of one submission, in batches as they come; for one consumer.

    Iterate over it, in a thread or in an event loop of any kind: each prompt's reply comes exactly once, in
    any order. A prompt without a reply at the submission's deadline gets one with FailureKind.DEADLINE, and
    its request is aborted in the engine. So is what is unfinished when the iteration is left early.

    Args:
        ends_s: the deadline on the monotonic clock; None: the submission's, if it has one, as the wall clock
            goes now.
        told: told where prompts stand that wait to be admitted, from any thread; an empty batch follows.

    Raises:
        EngineError, ModelError: while iterating, see `Engine.answer`.
        RelserveError: the engine left prompts without a reply.
        Cancelled: somebody called `cancel`.
    """

    def __init__(
        self,
        engine: Engine,
        submission: Submission,
        ends_s: float | None = None,
        told: Callable[[Standing], None] | None = None,
    ) -> None:
        if ends_s is None and submission.deadline_s is not None:
            ends_s = time.monotonic() + submission.deadline_s - time.time()
        self._num_prompts = self._num_left = len(submission.prompts)
        self._inbox: Inbox = queue.SimpleQueue()
        self._listeners: set[Callable[[], None]] = set()
        # Not a method: the future would then hold this object, which holds the future.
        deliver = partial(_deliver, self._inbox, self._listeners)
        if told is not None:
            submission = replace(submission, told=partial(_hear, told, deliver))
        if submission.trace is None and (trace := traces.carried()) is not None:
            submission = replace(submission, trace=trace)
        self._future: Future[None] = spawn(_carry(engine, submission, ends_s, deliver))
        # The None that ends the batches comes once the future is done, and with it the outcome.
        self._future.add_done_callback(lambda _: deliver(None))

    def cancel(self) -> None:
        """Give up what is unfinished: the engine aborts it. Nobody waits for that."""
        self._future.cancel()

    def result(self, cancel: threading.Event | None = None) -> list[Reply]:
        """Wait for all replies; one a prompt, in the prompts' order.

        Raises:
            Cancelled: `cancel` was set; what was unfinished is aborted.
        """
        found: list[Reply] = []
        try:
            while (batch := self.next_batch(cancel)) is not None:
                found += batch
        finally:
            self.cancel()
        return sorted(found, key=lambda reply: reply.index)

    def next_batch(self, cancel: threading.Event | None = None) -> list[Reply] | None:
        """Wait for further replies; None when all have come.

        Raises:
            Cancelled: `cancel` was set; the caller decides about the rest.
        """
        while cancel is None or not cancel.is_set():
            with suppress(queue.Empty):
                return self._taken(self._inbox.get(timeout=POLL_S))
        raise Cancelled(INTERRUPTED)

    def already_here(self) -> Iterator[list[Reply]]:
        """What has come and was not taken yet; waits for nothing."""
        while not self._inbox.empty():
            yield self._inbox.get() or []

    def __iter__(self) -> Iterator[list[Reply]]:
        try:
            while (batch := self.next_batch()) is not None:
                yield batch
        finally:
            self.cancel()

    async def __aiter__(self) -> AsyncIterator[list[Reply]]:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the consumer's loop has ended
                loop.call_soon_threadsafe(news.set)

        self._listeners.add(tell)
        try:
            while True:
                news.clear()
                try:
                    batch = self._taken(self._inbox.get_nowait())
                except queue.Empty:
                    await news.wait()
                    continue
                if batch is None:
                    return
                yield batch
        finally:
            self._listeners.discard(tell)
            self.cancel()

    def _taken(self, batch: list[Reply] | None) -> list[Reply] | None:
        """The batch; at the end of all, the error that ended it."""
        if batch is not None:
            self._num_left -= len(batch)
            return batch
        try:
            self._future.result()
        except CancelledError:
            raise Cancelled(INTERRUPTED) from None
        if self._num_left:
            raise RelserveError(
                f"the engine left {self._num_left} of {self._num_prompts} prompts without a reply"
            )
        return None


def _hear(
    told: Callable[[Standing], None], deliver: Callable[[list[Reply]], None], standing: Standing
) -> None:
    told(standing)
    deliver([])


def _deliver(inbox: Inbox, listeners: set[Callable[[], None]], batch: list[Reply] | None) -> None:
    inbox.put(batch)
    for tell in list(listeners):
        tell()


async def _carry(
    engine: Engine, submission: Submission, ends_s: float | None, deliver: Callable[[list[Reply]], None]
) -> None:
    """Carry replies from the engine loop to their consumer, until all have come or the deadline passes."""
    if ends_s is None:
        async for batch in engine.answer(submission):
            deliver(batch)
    else:
        await _carry_in_time(engine, submission, ends_s, deliver)


async def _carry_in_time(
    engine: Engine, submission: Submission, ends_s: float, deliver: Callable[[list[Reply]], None]
) -> None:
    left = set(range(len(submission.prompts)))
    limit = asyncio.timeout(ends_s - time.monotonic())
    try:
        async with limit:
            await asyncio.sleep(0)  # so that a deadline that has passed leaves the engine alone
            async for batch in engine.answer(submission):
                left.difference_update(reply.index for reply in batch)
                deliver(batch)
    except TimeoutError:
        if not limit.expired():
            raise
        failure = Failure(FailureKind.DEADLINE, "the deadline passed before the answer came")
        deliver([Reply(index, None, failure) for index in sorted(left)])
