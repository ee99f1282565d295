"""What the process of a member holds that another process owns: an engine that dies with those who ask it."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

from relserve.call.relquery import Reply, Submission
from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.local.engine import LocalEngine
from relserve.errors import EngineDeadError
from relserve.machine import traces
from relserve.machine.engine_status import started_at
from relserve.machine.state_message import told_where
from relserve.policies.model.linear import CostModel
from relserve.vllm_plugin.settings import FIRST_GUESS

THREADS = "OMP_NUM_THREADS"  # Ray sets it to 1 in actors that take no CPUs
FLUSH_S = 1.0  # how long the last spans may take to be sent


class Up(NamedTuple):
    """What is known of an engine that came up.

    Attributes:
        mark: its fingerprint.
        host: the name of its machine.
        processes: that of the host and the engine's: pids, and when they started, in the kernel's ticks.
    """

    mark: str | None
    cost: CostModel
    token_budget: int
    kv_tokens: float
    max_num_seqs: int
    host: str
    processes: tuple[tuple[int, int | None], ...]


class EngineHost:
    """An engine that ends a query under which it dies at once, and is started by `start` alone.

    On one event loop.

    Args:
        model, path, engine_args: as of `LocalEngine`.
        state: where the engine reports to, as of `told_where`.
        log_path: "" for the output of this process.
        threads: of an engine on a CPU; "": as many as suit it.
    """

    def __init__(
        self, model: str, path: str, engine_args: Mapping[str, Any], log_path: str, state: str, threads: str
    ) -> None:
        os.environ.pop(THREADS, None)
        if threads:
            os.environ[THREADS] = threads
        log, self._was_up = Path(log_path) if log_path else None, False
        self._engine = LocalEngine(
            model, path, engine_args=engine_args, log_path=log, restarts=False, variables=told_where(state)
        )

    async def start(self) -> Up:
        """Bring the engine up; raises as `LocalEngine.start`."""
        await self._engine.start()
        running = self._engine.running
        if running is None:
            raise EngineDeadError(f"the engine for {self._engine.model} ended as soon as it was ready")
        self._was_up = True
        config = running.client.vllm_config
        blocks, size = config.cache_config.num_gpu_blocks or 0, config.cache_config.block_size
        pids = [pid for pid in (os.getpid(), running.pid) if pid is not None]
        return Up(
            running.fingerprint, self._engine.find_cost() or FIRST_GUESS,
            config.scheduler_config.max_num_batched_tokens, float(blocks * size), running.max_num_seqs,
            socket.gethostname(), tuple((pid, started_at(pid)) for pid in pids),
        )  # fmt: skip

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        return await self._engine.fingerprint()

    async def ping(self) -> bool:
        """Whether it is there to be asked; EngineDeadError where it was up and its process has ended."""
        running = self._engine.running
        if self._was_up and (running is None or not running.works):
            raise EngineDeadError(f"the engine for {self._engine.model} has died")
        return True

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`.

        Raises:
            EngineDeadError: the engine has died, now or before.
        """
        if self._engine.running is None:
            raise EngineDeadError(f"the engine for {self._engine.model} has died")
        async with aclosing(self._engine.answer(submission)) as stream:  # type: ignore[type-var]
            async for replies in stream:
                yield replies

    async def openai_socket(self, arguments: Mapping[str, Any], model: str) -> str:
        """See `LocalEngine.openai_socket`; for processes of this machine."""
        return str(await self._engine.openai_socket(arguments, model))

    async def close(self) -> None:
        """End the engine, and send its last spans: who asked for this kills the process then."""
        try:
            await self._engine.close()
        finally:
            await in_daemon_thread(lambda: traces.flush(FLUSH_S))
