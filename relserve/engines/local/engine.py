"""A model on this machine: vLLM with its engine in a process of its own, started on first use."""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relserve.call.prefix_share import BLOCK
from relserve.call.relquery import Reply, Submission
from relserve.engines import fingerprint
from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.local import cpu
from relserve.engines.local.flight import Flight
from relserve.engines.local.gguf_folder import convert, is_unconverted
from relserve.engines.local.label_read import as_read, refuse_other_logprobs
from relserve.engines.local.log import EngineGone, cause_of, grammar_error, size_of
from relserve.engines.local.prompts import PromptEncoder, load_encoder
from relserve.engines.local.running import RunningEngine
from relserve.engines.local.start import NOTHING, is_engine, launch
from relserve.engines.local.told_args import cache_of, refusal
from relserve.engines.local.unanswered import Unanswered
from relserve.errors import EngineDeadError, EngineError, EngineStartError, OptionError
from relserve.gate.gate import Gate
from relserve.machine.cost_file import find_cost
from relserve.machine.hardware import gpus
from relserve.machine.length_file import find_lengths
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel
from relserve.vllm_plugin.batches import takes_batches

if TYPE_CHECKING:
    from relserve.engines.local.openai import OpenAISocket

logger = logging.getLogger(__name__)

STOP_S = 2.0  # how long an engine may take to end by itself; what it has learnt is saved every few seconds
STOP_AT_EXIT_S = 0.5  # the same when the interpreter ends
NO_TEMPLATE = (
    "has no chat template: prompts go to it as they are, and typed answers may be no better than chance; "
    "put the chat_template.jinja of its instruction-tuned version into its folder"
)
NO_ARGS: Mapping[str, Any] = {}


class LocalEngine:
    """Answers from a vLLM engine on this machine; see `relserve.engines.protocol.Engine`.

    Args:
        model: the name by which users ask for it.
        path: a local folder or a Hugging Face hub id.
        engine_args: further arguments of vLLM's AsyncEngineArgs, over the defaults.
        announce: told in one line when an engine starts, is ready, or died; default: the module's logger.
        log_path: file to whose end the engine's process writes its output; default: the caller's stderr.
        forks: fork its first process off this one, which is then to have no threads that hold locks; those
            that follow are spawned, as all are without it. Saves importing vLLM a second time.
        gate: decides which rows start; default: all do. Others that ask the same engine enter it, too.
        variables: of the environment of its process, besides those that relserve chooses.
        restarts: restart an engine that died under a query; else the query ends with EngineDeadError at once.
    """

    def __init__(
        self,
        model: str,
        path: str,
        *,
        engine_args: Mapping[str, Any] = NO_ARGS,
        announce: Callable[[str], None] | None = None,
        log_path: Path | None = None,
        forks: bool = False,
        gate: Gate | None = None,
        restarts: bool = True,
        variables: Mapping[str, str] = NOTHING,
    ) -> None:
        self.model, self.path = model, path
        self._restarts, self._variables = restarts, variables
        self.gate = gate or Gate()
        self._engine_args = dict(engine_args)
        self.kv_cache = cache_of(self._engine_args.get("additional_config"))
        self._announce = announce or logger.info
        self._log_path, self._forks = log_path, forks
        self._running: RunningEngine | None = None
        self._flights: set[Flight] = set()  # the submissions that are with it
        self._starting: asyncio.Task[RunningEngine] | None = None
        self._encoder: PromptEncoder | None = None
        self._openai: OpenAISocket | None = None
        self._owner = os.getpid()
        _engines.add(self)

    @property
    def running(self) -> RunningEngine | None:
        """The engine that is up; None when none is."""
        return self._running if self._running is not None and not self._running.dead else None

    @property
    def pid(self) -> int | None:
        """Of the engine's process; None when it is not running."""
        return self.running.pid if self.running is not None else None

    @property
    def num_unfinished(self) -> int:
        """Requests that are with the engine."""
        return sum(len(flight.pending) for flight in list(self._flights))  # asked from any thread

    @property
    def max_num_seqs(self) -> int | None:
        """See `Estimable`."""
        return self._engine_args.get("max_num_seqs")

    @property
    def block_size(self) -> int:
        """See `Estimable`; without asking vLLM, so only NVIDIA's GPUs count."""
        return int(self._engine_args.get("block_size") or (BLOCK if gpus() else cpu.BLOCK_SIZE))

    def find_encoder(self) -> PromptEncoder | None:
        """See `Estimable`: the running engine's, or one made of the model's files."""
        if self._running is not None:
            return self._running.encoder
        if self._encoder is None:
            self._encoder = load_encoder(self.path)
        return self._encoder

    def find_cost(self) -> CostModel | None:
        """See `Estimable`."""
        path = find_cost(self.path)
        return CostModel.load(Path(path)) if path else None

    def find_lengths(self) -> LengthLearner:
        """See `Estimable`."""
        return find_lengths(self.path)

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`; while the engine runs, of what it has loaded."""
        if self._running is not None and not self._running.dead:
            return self._running.fingerprint
        self._tell_of_conversion()
        return await in_daemon_thread(self._fingerprint)

    async def start(self) -> None:
        """Start the engine if it is not up, and wait until it is.

        Raises:
            EngineStartError, EngineDeadError: as of `answer`.
        """
        await self._up()

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; an engine that dies is restarted once and asked only what is unanswered.

        So is an engine that gave rows up, once all others are answered.
        """
        if submission.sampling.with_confidence or submission.sampling.read:
            refuse_other_logprobs(self.model, self._engine_args)
        unanswered, has_died = Unanswered(len(submission.prompts)), False
        if submission.sampling.thinking:  # told before an engine is started, where the files are here
            self._refuse_if_thoughtless(await in_daemon_thread(self.find_encoder))
        while True:
            running = await self._up()
            if submission.sampling.thinking:
                self._refuse_if_thoughtless(running.encoder)
            if submission.sampling.read:
                submission = await in_daemon_thread(partial(as_read, running, submission))
            find_cause = partial(grammar_error, self._log_path, size_of(self._log_path))
            flight = Flight(running, submission, list(unanswered.indices), find_cause, self.gate)
            self._flights.add(flight)
            try:
                async with aclosing(flight.replies()) as stream:
                    async for replies in stream:
                        if standing := unanswered.take(replies):
                            yield standing
                if not unanswered.indices:
                    return
            except EngineGone:
                self._give_up_or_restart(running, has_died)
                has_died = True
            finally:
                self._flights.discard(flight)

    def _refuse_if_thoughtless(self, encoder: PromptEncoder | None) -> None:
        if encoder is not None and (why := encoder.why_it_cannot_think):
            raise OptionError(
                f"thinking: {self.model} cannot be asked to think: {why}; leave thinking out, or name a "
                "reasoning model"
            )

    def _give_up_or_restart(self, running: RunningEngine, is_last: bool) -> None:
        if running.closed:
            raise EngineDeadError(f"the engine for {self.model} was closed while it worked") from None
        if is_last or not self._restarts:
            raise EngineDeadError(
                f"the engine for {self.model} died {'twice ' if is_last else ''}during one query "
                f"({running.ending(self._log_path)}){self._see_log()}"
            ) from None

    async def _up(self) -> RunningEngine:
        """The running engine, started if there is none; concurrent callers share one start."""
        if self._running is not None and not self._running.dead:
            return self._running
        if self._running is not None and not self._restarts:
            raise EngineDeadError(f"the engine for {self.model} has died{self._see_log()}")
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start(self._running))
            self._starting.add_done_callback(self._started)
        # Shielded: the start goes on for the next query when this one is cancelled.
        return await asyncio.shield(self._starting)

    def _started(self, task: asyncio.Task[RunningEngine]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # taken by the callers that are left, if any

    async def _start(self, before: RunningEngine | None) -> RunningEngine:
        died = ""
        if before is not None and not before.closed:
            ending = before.ending(self._log_path)
            died = f"the engine for {self.model} died ({ending}){self._see_log()}; "
            in_daemon_thread(lambda: before.stop(STOP_S))
        self._tell_of_conversion()
        self._announce(f"{died}starting engine for {self.model} ...")
        started = time.monotonic()
        log_end = size_of(self._log_path)
        try:
            running = await in_daemon_thread(self._launch)
            running.watch(log_end)
            await self._greet(running)
        except Exception as error:
            cause = cause_of(error, self._log_path, log_end)
            problem = f"the engine for {self.model} did not start: {cause}{self._see_log()}"
            raise (EngineDeadError(died + problem) if died else EngineStartError(problem)) from error
        self._running = running
        self.gate.fits(running.max_num_seqs)
        _stop_at_exit()
        self._announce(f"engine for {self.model} ready in {time.monotonic() - started:.1f} s")
        self.kv_cache = cache_of(running.client.vllm_config.additional_config)
        if why := refusal(self._engine_args, running.client.vllm_config):
            self._announce(f"{self.model}: {why}")
        if not running.encoder.has_template:
            self._announce(f"{self.model} {NO_TEMPLATE}")
        return running

    def _tell_of_conversion(self) -> None:
        if is_unconverted(self.path):
            self._announce(f"converting {self.model} to {self.path}, once ...")

    async def _greet(self, running: RunningEngine) -> None:
        """See that an engine that came up answers; one that does not is stopped."""
        try:
            await running.ask(running.client.get_supported_tasks())
            running.takes_batches = await running.ask(takes_batches(running.client))
        except BaseException:
            in_daemon_thread(lambda: running.stop(STOP_S))
            raise

    def _launch(self) -> RunningEngine:
        convert(self.path)  # in `_fingerprint` alone an error of it would be in no message
        before = self._fingerprint()
        forks, self._forks = self._forks, False
        running = launch(self.path, self._engine_args, self._log_path, forks, self._variables)
        running.fingerprint = self._fingerprint()
        if before is not None and running.fingerprint != before:
            running.fingerprint = None  # changed while it was read: nobody knows what was loaded
        return running

    def _fingerprint(self) -> str | None:
        try:
            convert(self.path)
            return fingerprint.of_local(self.path, self._engine_args)
        except Exception as error:
            logger.debug("no answers are kept of %s: %s", self.model, error)
            return None

    def _see_log(self) -> str:
        return f"; its log is {self._log_path}" if self._log_path is not None else ""

    async def openai_socket(self, arguments: Mapping[str, Any], model: str = "") -> Path:
        """See `ServesOpenAI.openai_socket`; gone with `close`. `model` as of `OpenAISocket`."""
        if self._openai is None:
            from relserve.engines.local.openai import OpenAISocket  # uvicorn, of the extra `server`

            folder = Path(tempfile.mkdtemp(prefix="relserve-"))  # with mode 0700
            self._openai = OpenAISocket(self, folder / "openai.sock", arguments, model=model)
        await self._openai.open()
        return self._openai.path

    async def reset_prefix_cache(self) -> None:
        """Forget every cached prefix, as benchmarks need; starts the engine if it is not running."""
        running = await self._up()
        await running.ask(running.client.reset_prefix_cache())

    async def close(self) -> None:
        """End the engine's process and free everything; it starts anew if asked again."""
        if self._openai is not None:
            openai, self._openai = self._openai, None
            await openai.close()
            shutil.rmtree(openai.path.parent, ignore_errors=True)
        if self._starting is not None:
            with suppress(EngineError):
                await asyncio.shield(self._starting)
        running, self._running = self._running, None
        if running is not None:
            running.closed = True
            running.mark_dead()
            await in_daemon_thread(lambda: running.stop(STOP_S))

    def _end(self) -> None:
        if self._owner != os.getpid():
            return
        if self._openai is not None:
            shutil.rmtree(self._openai.path.parent, ignore_errors=True)
        if self._running is not None:
            self._running.stop(STOP_AT_EXIT_S)


_engines: weakref.WeakSet[LocalEngine] = weakref.WeakSet()


def _stop_at_exit() -> None:
    """Come before what vLLM registered when it started, which would wait for seconds."""
    atexit.unregister(_stop_all)
    atexit.register(_stop_all)


def _stop_all() -> None:
    """Leave no engine behind, also none that was just starting."""
    threads = [threading.Thread(target=engine._end, daemon=True) for engine in _engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(STOP_AT_EXIT_S + 2)
    if any(engine._starting is not None for engine in _engines):
        for process in multiprocessing.active_children():
            if is_engine(process):
                process.kill()


_stop_at_exit()
