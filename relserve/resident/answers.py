"""The service for processes with relserve: their submissions go to the engine as they are."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from contextlib import aclosing
from typing import Any

from relserve.engines.local.engine import LocalEngine
from relserve.engines.protocol import Engine
from relserve.engines.shared.wire import (
    Ended,
    Replied,
    Said,
    put_object,
    read_json,
    read_object,
    write_object,
)
from relserve.errors import EngineDeadError, EngineStartError, RelserveError
from relserve.resident.listeners import Listeners
from relserve.resident.milestones import Milestones

SCHEDULED = "starting engine for"  # what LocalEngine announces first, and a client has said already


class Answers:
    """Answers submissions.

    Attributes:
        has_failed: whether the engine did not come up; the process is of no use then.
        num_running, num_answered: submissions under way, and prompts answered.
    """

    def __init__(self, engine: Engine, listeners: Listeners, milestones: Milestones) -> None:
        self._engine, self._listeners, self._milestones = engine, listeners, milestones
        self.has_failed = False
        self.num_running = self.num_answered = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._stopping = False

    async def start_engine(self) -> None:
        """Start the engine before anybody asks; what goes wrong is told to those who do."""
        if isinstance(self._engine, LocalEngine):
            try:
                await self._engine.start()
                self._milestones.reach("ready")
            except RelserveError as error:
                self.has_failed = isinstance(error, EngineStartError)
                self._listeners.say(str(error))
        gc.enable()

    async def start(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Tell a client when the engine is up."""
        await read_json(reader)
        with self._saying(writer):
            try:
                if isinstance(self._engine, LocalEngine):
                    await self._engine.start()
            except RelserveError as error:
                await self._end(writer, error)
                return
            await write_object(writer, Ended())

    async def serve(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one submission; what is not answered when the client hangs up is aborted."""
        asked = await read_object(reader)
        answering = asyncio.ensure_future(self._answer(asked, writer))
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
        for writer in list(self._writers):
            error = EngineDeadError(f"the shared engine for {self._engine.model} was stopped while it worked")
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(self._end(writer, error), 1)

    async def _answer(self, asked: Any, writer: asyncio.StreamWriter) -> None:
        with self._saying(writer):
            try:
                async with aclosing(self._engine.answer(asked.submission)) as stream:  # type: ignore[type-var]
                    async for replies in stream:
                        self.num_answered += len(replies)
                        await write_object(writer, Replied(replies))
            except RelserveError as error:
                self.has_failed = isinstance(error, EngineStartError)
                if not self._stopping:
                    await self._end(writer, error)
                return
            await write_object(writer, Ended())

    async def _end(self, writer: asyncio.StreamWriter, error: RelserveError) -> None:
        await write_object(writer, Ended(type(error).__name__, str(error)))

    def _saying(self, writer: asyncio.StreamWriter) -> contextlib.AbstractContextManager[None]:
        """While inside, the client hears what the engine announces."""

        def tell(text: str) -> None:
            if not text.startswith(SCHEDULED):
                put_object(writer, Said(text))

        return self._listeners.listening(tell)
