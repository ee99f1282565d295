"""A model on this machine that a resident process serves to all processes of one user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from relserve.call.relquery import Reply, Submission
from relserve.call.standing import Standing
from relserve.engines.local.unanswered import Unanswered
from relserve.engines.protocol import Engine, Estimable
from relserve.engines.shared.greeting import Resident, error_of
from relserve.engines.shared.place import EnginePlace, is_held, place_of
from relserve.engines.shared.start import Line, connect, reach
from relserve.engines.shared.wire import (
    EngineNotice,
    Replied,
    Stands,
    SubmissionEnded,
    read_json,
    read_object,
    write_json,
    write_submission,
)
from relserve.errors import EngineDeadError, EngineStartError
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel
from relserve.settings import ADMISSIONS
from relserve.version import VERSION

HUNG_UP = (OSError, asyncio.IncompleteReadError, EOFError)


class Files(Estimable, Engine, Protocol):
    """What tells of a model while no process runs it."""


class SharedEngine:
    """Answers from the resident engine of a model, started when it is first asked; see `Engine`.

    Args:
        model: the name by which users ask for it.
        path: a local folder or a Hugging Face hub id.
        engine_args: further arguments of vLLM's AsyncEngineArgs; a resident engine with others is refused.
        idle_min: minutes without work after which a process that this engine starts ends.
        cache_dir: the cache folder; those with another one have resident engines of their own.
        announce: told in one line when the process is started, is ready, or ended.
        log_path: file to whose end the process writes its output.
        admission: of a process that this engine starts, as of the setting; one that runs with another is
            refused, unless this is 'off'.
        files: an engine of the model that tells of it and is never started; default: a local one.
    """

    def __init__(
        self,
        model: str,
        path: str,
        *,
        engine_args: Mapping[str, Any],
        idle_min: float,
        cache_dir: Path,
        announce: Callable[[str], None],
        log_path: Path | None,
        admission: str = ADMISSIONS[0],
        files: Files | None = None,
    ) -> None:
        self.model = model
        self.resident = Resident(model, path, engine_args, idle_min, VERSION, log_path, cache_dir, admission)
        self._cache_dir, self._announce = cache_dir, announce
        self._given_files = files
        self._lines: set[Line] = set()
        self._num_closed = 0  # how often it was closed: queries that began before that end

    @property
    def place(self) -> EnginePlace:
        """Where the resident engine is found; raises EngineStartError where that is no place for it."""
        return place_of(self.resident.path, self._cache_dir)

    @cached_property
    def _files(self) -> Files:
        """What tells of the model, made when it is asked: a warm command needs none of its many modules."""
        if self._given_files is not None:
            return self._given_files
        from relserve.engines.local.engine import LocalEngine

        resident = self.resident  # the engine of this process is never started
        return LocalEngine(
            resident.model, resident.path, engine_args=resident.engine_args, announce=self._announce
        )

    @property
    def max_num_seqs(self) -> int | None:
        """See `Estimable`."""
        return self._files.max_num_seqs

    @property
    def block_size(self) -> int:
        """See `Estimable`."""
        return self._files.block_size

    def find_encoder(self) -> Any:
        """See `Estimable`: made of the model's files."""
        return self._files.find_encoder()

    def find_cost(self) -> CostModel | None:
        """See `Estimable`."""
        return self._files.find_cost()

    def find_lengths(self) -> LengthLearner:
        """See `Estimable`."""
        return self._files.find_lengths()

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`: of what the resident engine has loaded, while it is up."""
        line = await connect(self.place, self.resident.hello("fingerprint"))
        if line is None:
            return await self._files.fingerprint()
        try:
            found: str | None = (await read_json(line.reader)).get("fingerprint")
            return found
        except HUNG_UP:
            return await self._files.fingerprint()
        finally:
            line.close()

    async def is_up(self) -> bool:
        """Whether the resident engine is up and takes this process; starts nothing.

        Raises:
            EngineStartError: there is no place for it.
        """
        if not is_held(self.place):
            return False
        try:
            line = await connect(self.place, self.resident.hello("fingerprint"))
        except EngineStartError:  # it refuses
            return False
        if line is None:  # it comes up just now, or ends
            return False
        try:
            await read_json(line.reader)
        except HUNG_UP:
            return False
        finally:
            line.close()
        return True

    async def start(self) -> None:
        """Have the resident engine started and wait until it is ready.

        Raises:
            EngineStartError: it did not come up, or refuses.
        """
        line = await self._reach("start")
        try:
            await write_json(line.writer, {})
            async for _ in self._messages(line):
                pass
        except HUNG_UP:
            raise EngineDeadError(f"the shared engine for {self.model} ended while it started") from None
        finally:
            line.close()

    async def openai_socket(self, arguments: Mapping[str, Any]) -> Path:
        """See `ServesOpenAI.openai_socket`: of the resident process, which is started if there is none."""
        line = await self._reach("openai")
        try:
            await write_json(line.writer, {"arguments": json.loads(json.dumps(dict(arguments)))})
            answer = await read_json(line.reader)
        except HUNG_UP:
            raise EngineDeadError(f"the shared engine for {self.model} ended while it started") from None
        finally:
            line.close()
        if error := answer.get("error"):
            raise EngineStartError(str(error))
        return Path(answer["socket"])

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; a process that dies is started anew once and asked only what is unanswered."""
        unanswered, has_died, num_closed = Unanswered(len(submission.prompts)), False, self._num_closed
        while unanswered.indices:
            line = await self._reach("engine")
            self._lines.add(line)
            rest, indices = _rest_of(submission, list(unanswered.indices))
            try:
                await write_submission(line.writer, rest)
                async for replies in self._messages(line, submission.told):
                    own = [replace(reply, index=indices[reply.index]) for reply in replies]
                    for reply in own:
                        del unanswered.indices[reply.index]
                    yield own
            except HUNG_UP:
                self._give_up_or_go_on(has_died, self._num_closed > num_closed)
                has_died = True
            finally:
                self._lines.discard(line)
                line.close()

    async def close(self) -> None:
        """Hang up; relQueries under way end with EngineDeadError. The process goes on for others."""
        self._num_closed += 1
        for line in list(self._lines):
            line.close()

    async def _reach(self, service: str) -> Line:
        line, is_new = await reach(self.place, self.resident, service)
        if is_new:
            self._announce(f"starting the shared engine for {self.model} ...")
        return line

    async def _messages(
        self, line: Line, told: Callable[[Standing], None] | None = None
    ) -> AsyncIterator[list[Reply]]:
        """The replies that come over a line until all have come.

        Raises:
            RelserveError: as the resident engine raised it.
        """
        while True:
            message = await read_object(line.reader)
            if isinstance(message, EngineNotice):
                self._announce(message.text)
            elif isinstance(message, Replied):
                yield message.replies
            elif isinstance(message, Stands):
                if told is not None:
                    told(message.standing)
            elif isinstance(message, SubmissionEnded):
                if message.error:
                    raise error_of(message.error, message.message)
                return

    def _give_up_or_go_on(self, has_died: bool, was_closed: bool) -> None:
        if was_closed:
            raise EngineDeadError(f"the engine for {self.model} was closed while it worked") from None
        if has_died:
            raise EngineDeadError(
                f"the shared engine for {self.model} ended twice during one query; `relserve engine logs "
                f"--model {self.resident.named}` shows its log"
            ) from None
        self._announce(f"the shared engine for {self.model} ended; starting it anew ...")


def _rest_of(submission: Submission, indices: list[int]) -> tuple[Submission, list[int]]:
    """What is still to be asked, and the indices of its prompts in the submission."""
    if len(indices) == len(submission.prompts):
        return submission, indices
    num_answered = len(submission.prompts) - len(indices)
    rows = None if submission.rows is None else submission.rows - num_answered
    return submission.part(indices, rows), indices
