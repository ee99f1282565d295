"""An engine that came up: its client, its process, and whether it still lives."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from relserve.engines.local.log import EngineGone, last_error, one_line
from relserve.engines.local.prompts import PromptEncoder
from relserve.engines.local.spellings import vocabulary_of
from relserve.errors import EngineError
from relserve.vllm_plugin.batches import BatchSender, RowSender, SingleSender
from relserve.vllm_plugin.engines import message_context
from relserve.vllm_plugin.host import EngineClient

CLIENT_S = 1.0  # for which vLLM's client may take longer to end than its process

T = TypeVar("T")


class RunningEngine:
    """A vLLM engine and what its users need of it.

    Attributes:
        client: vLLM's AsyncLLM.
        encoder: prompts to token ids.
        max_model_len: tokens of prompt and reply together.
        max_num_seqs: rows that run at once, all copies of the model together.
        variables: of the environment of its process, those that relserve chose.
        pid: of the engine's process.
        on_death: called when it is known to have ended, on the event loop.
        takes_batches: whether rows go to it in one message; see `relserve.vllm_plugin.batches`.
        dead: whether it is known to have ended.
        closed: whether it was ended on purpose.
        fingerprint: of the model that it has loaded; see `Engine.fingerprint`.
    """

    def __init__(
        self, client: EngineClient, process: BaseProcess, variables: Mapping[str, str] | None = None
    ) -> None:
        self.client, self._process = client, process
        self.variables = dict(variables or {})
        self.encoder = PromptEncoder(client.get_tokenizer())
        self.max_model_len: int = client.vllm_config.model_config.max_model_len
        copies = client.vllm_config.parallel_config.data_parallel_size
        self.max_num_seqs: int = client.vllm_config.scheduler_config.max_num_seqs * copies
        self.pid = process.pid
        self.on_death: set[Callable[[], None]] = set()
        self.takes_batches = self.closed = False
        self.fingerprint: str | None = None
        self._death = asyncio.Event()
        self._why_dead = ""
        self._log_start = 0

    @cached_property
    def tokens_of(self) -> dict[bytes, list[int]]:
        """The ids of the tokens that stand for the same bytes; takes up to seconds.

        Raises:
            EngineError: xgrammar does not know tokenizers of this kind.
        """
        size = self.client.vllm_config.model_config.get_vocab_size()
        try:
            return vocabulary_of(self.client.get_tokenizer(), size)
        except Exception as error:
            raise EngineError(
                "this model's tokenizer is of a kind of which the probabilities of choices cannot be told "
                f"({one_line(error)}); leave min_confidence out or name another model"
            ) from error

    def sender(self, trace: Mapping[str, str] | None = None, cache_salt: str | None = None) -> RowSender:
        """What submits the rows of one flight, whose spans vLLM puts below `trace` if it makes any.

        Args:
            cache_salt: see `Submission`.
        """
        if trace is not None and self.client.vllm_config.observability_config.otlp_traces_endpoint is None:
            trace = None  # vLLM would warn of it
        return (BatchSender if self.takes_batches else SingleSender)(self.client, trace, cache_salt)

    @property
    def dead(self) -> bool:
        return self._death.is_set()

    @property
    def works(self) -> bool:
        """Whether nothing is known against it; vLLM may know before us that it has ended."""
        return not self.dead and not self.client.errored

    def watch(self, log_start: int) -> None:
        """Notice the end of the process at once, independently of vLLM; to be called on the event loop.

        Args:
            log_start: where the engine's part of the log begins.
        """
        self._log_start = log_start
        loop = asyncio.get_running_loop()

        def wait() -> None:
            connection.wait([self._process.sentinel])
            with contextlib.suppress(RuntimeError):  # the loop may have been closed
                loop.call_soon_threadsafe(self.mark_dead)

        threading.Thread(target=wait, name="relserve-engine-watch", daemon=True).start()

    def mark_dead(self, why: str = "") -> None:
        """It ended, or is of no more use: tell everybody who wants to know."""
        self._why_dead = self._why_dead or why
        self._death.set()
        for tell in list(self.on_death):
            tell()

    async def ask(self, question: Coroutine[Any, Any, T]) -> T:
        """The answer of a call that vLLM would leave waiting for ever if the engine died under it.

        Raises:
            EngineGone: it did.
        """
        asked, death = asyncio.ensure_future(question), asyncio.ensure_future(self._death.wait())
        try:
            await asyncio.wait({asked, death}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise EngineGone
            return asked.result()
        finally:
            asked.cancel()
            death.cancel()

    def ending(self, log_path: Path | None) -> str:
        """How it ended, in words."""
        deadline_s = time.monotonic() + 1
        # Not join(): where two threads wait for one process, the one that comes second learns nothing.
        while (code := self._process.exitcode) is None and time.monotonic() < deadline_s:
            time.sleep(0.01)
        if code is not None and code < 0:
            return describe_signal(-code)
        return last_error(log_path, self._log_start) or self._why_dead or f"exit code {code}"

    def stop(self, timeout_s: float) -> None:
        """End the process, by force after `timeout_s`, and free what the client holds; blocks."""
        if not self.dead:  # what died and is cleared away was not ended on purpose: its queries may go on
            self.closed = True
        # vLLM also waits for its threads that make prompts, and has no limit for that.
        ending = threading.Thread(target=self._shut_down, args=(timeout_s,), daemon=True)
        ending.start()
        ending.join(timeout_s + CLIENT_S)
        # Its __del__ calls this again, at interpreter exit among modules that are half gone.
        self.client.shutdown = _nothing
        with contextlib.suppress(Exception):
            end_aside(message_context(self.client))
        if self._process.is_alive():
            self._process.kill()
        self._process.join(1)

    def _shut_down(self, timeout_s: float) -> None:
        with contextlib.suppress(Exception):
            self.client.shutdown(timeout=timeout_s)


def end_aside(context: Any) -> None:
    """Terminate a ZeroMQ context in a thread of its own, where it may wait until its sockets are closed.

    Left to the garbage collector it would wait in whichever thread collects; where that is the event loop's,
    which alone closes the sockets, for ever (seen after an engine was killed).
    """
    threading.Thread(target=context.term, name="relserve-engine-sockets", daemon=True).start()


def describe_signal(number: int) -> str:
    """The signal that ended a process, in words."""
    hint = "; out of memory?" if number == signal.SIGKILL else ""
    try:
        return f"killed by {signal.Signals(number).name}{hint}"
    except ValueError:
        return f"killed by signal {number}"


def _nothing() -> None:
    """Stands in for a shutdown that was done."""
