"""An engine that came up: its client, its process, and whether it still lives."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, TypeVar

from relserve.engines.local_prompts import PromptEncoder

if TYPE_CHECKING:
    from relserve.engines.local_flight import Flight

T = TypeVar("T")


class EngineGone(Exception):
    """The engine died, or was closed, while something was asked of it."""


class RunningEngine:
    """A vLLM engine and what its users need of it.

    Attributes:
        client: vLLM's AsyncLLM.
        encoder: prompts to token ids.
        max_model_len: tokens of prompt and reply together.
        pid: of the engine's process.
        flights: the submissions that are with it.
        dead: whether it is known to have ended.
        closed: whether it was ended on purpose.
    """

    def __init__(self, client: Any, process: BaseProcess) -> None:
        self.client, self._process = client, process
        self.encoder = PromptEncoder(client.get_tokenizer())
        self.max_model_len: int = client.model_config.max_model_len
        self.pid = process.pid
        self.flights: set[Flight] = set()
        self.closed = False
        self._death = asyncio.Event()

    @property
    def dead(self) -> bool:
        return self._death.is_set()

    def watch(self) -> None:
        """Notice the end of the process at once, independently of vLLM; to be called on the event loop."""
        loop = asyncio.get_running_loop()

        def wait() -> None:
            connection.wait([self._process.sentinel])
            with contextlib.suppress(RuntimeError):  # the loop may have been closed
                loop.call_soon_threadsafe(self.mark_dead)

        threading.Thread(target=wait, name="relserve-engine-watch", daemon=True).start()

    def mark_dead(self) -> None:
        """It ended: let every flight know."""
        self._death.set()
        for flight in self.flights:
            flight.wake()

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

    @property
    def ending(self) -> str:
        """How the process ended, in words."""
        self._process.join(1)
        return describe_exit(self._process.exitcode)

    def stop(self, timeout_s: float) -> None:
        """End the process, by force after `timeout_s`, and free what the client holds; blocks."""
        self.closed = True
        with contextlib.suppress(Exception):
            self.client.shutdown(timeout=timeout_s)
        # Its __del__ calls this again, at interpreter exit among modules that are half gone.
        self.client.shutdown = _nothing
        if self._process.is_alive():
            self._process.kill()
        self._process.join(1)


def describe_exit(code: int | None) -> str:
    """An exit code in words."""
    if code is None:
        return "its output loop failed"
    if code >= 0:
        return f"exit code {code}"
    hint = "; out of memory?" if -code == signal.SIGKILL else ""
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}{hint}"
    return f"killed by signal {-code}{hint}"


def _nothing() -> None:
    """Stands in for a shutdown that was done."""
