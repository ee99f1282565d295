"""The service for processes with relserve: their submissions go to the engine as they are."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import traceback
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from relserve.call.relquery import Submission
from relserve.call.standing import Standing
from relserve.engines.local.log import one_line
from relserve.engines.loop import engine_loop
from relserve.engines.protocol import Engine, Startable
from relserve.engines.shared.wire import (
    EngineNotice,
    Replied,
    Stands,
    SubmissionEnded,
    put_object,
    read_json,
    read_submission,
    write_object,
)
from relserve.errors import EngineDeadError, EngineError, RelserveError
from relserve.resident.listeners import Listeners, Milestones

SAID_BY_CLIENTS = "starting engine for"  # how LocalEngine begins; who started the process has said so


class SubmissionService:
    """Answers submissions.

    Attributes:
        started: set when the first start is over, come what may.
        has_failed: whether the engine did not come up; the process is of no use then.
        start_error: why.
        num_running, num_answered: submissions under way, and prompts answered.
    """

    def __init__(self, engine: Engine, listeners: Listeners, milestones: Milestones) -> None:
        self._engine, self._listeners, self._milestones = engine, listeners, milestones
        self.has_failed = False
        self.started = asyncio.Event()
        self.start_error: Exception | None = None
        self.num_running = self.num_answered = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._stopping = False

    async def start_engine(self) -> None:
        """Start the engine before anybody asks; what goes wrong is told to those who do."""
        if isinstance(self._engine, Startable):
            try:
                await self._engine.start()
                self._milestones.reach("ready")
            except Exception as error:  # whatever it is, clients wait to be told
                self.start_error, self.has_failed = error, True
                self._listeners.say(str(error))
        gc.enable()
        self.started.set()

    async def start(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Tell a client when the engine is up."""
        await read_json(reader)
        with self._saying(writer):
            await self.started.wait()
            if self.start_error is not None:
                await self._end(writer, self.start_error)
            else:
                await write_object(writer, SubmissionEnded())

    async def serve(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one submission; what is not answered when the client hangs up is aborted."""
        submission = await read_submission(reader)
        answering = asyncio.ensure_future(self._answer(submission, writer))
        hanging_up = asyncio.ensure_future(reader.read(1))
        self.num_running += 1
        self._writers.add(writer)
        try:
            await asyncio.wait({answering, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.num_running -= 1
            self._writers.discard(writer)
            for task in (answering, hanging_up):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await task

    async def stop(self) -> None:
        """End what is under way with an error."""
        self._stopping = True
        error = EngineDeadError(f"the shared engine for {self._engine.model} was stopped while it worked")
        told = [asyncio.ensure_future(self._end(writer, error)) for writer in self._writers]
        if told:
            await asyncio.wait(told, timeout=1)

    async def _answer(self, submission: Submission, writer: asyncio.StreamWriter) -> None:
        with self._saying(writer):
            try:
                await self.started.wait()
                if self.start_error is not None:
                    raise self.start_error
                submission = replace(submission, told=partial(self._stands, writer))
                async with aclosing(self._engine.answer(submission)) as stream:  # type: ignore[type-var]
                    async for replies in stream:
                        self.num_answered += len(replies)
                        await write_object(writer, Replied(replies))
            except ConnectionError:  # the client is gone
                return
            except Exception as error:
                if not self._stopping:
                    await self._end(writer, error)
                return
            await write_object(writer, SubmissionEnded())

    def _stands(self, writer: asyncio.StreamWriter, standing: Standing) -> None:
        """Tell a client, from any thread."""
        engine_loop().call_soon_threadsafe(put_object, writer, Stands(standing))

    async def _end(self, writer: asyncio.StreamWriter, error: Exception) -> None:
        if not isinstance(error, RelserveError):
            traceback.print_exception(error)
            error = EngineError(f"the shared engine failed ({one_line(error)}); its log tells more")
        with contextlib.suppress(OSError):
            await write_object(writer, SubmissionEnded(type(error).__name__, str(error)))

    def _saying(self, writer: asyncio.StreamWriter) -> contextlib.AbstractContextManager[None]:
        """While inside, the client hears what the engine announces."""

        def tell(text: str) -> None:
            if not text.startswith(SAID_BY_CLIENTS):
                put_object(writer, EngineNotice(text))

        return self._listeners.listening(tell)
