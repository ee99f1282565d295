"""vLLM's engines start quickly: processes are forked off one that has imported vLLM; the heap is frozen once.

A start takes 2.7 s of a core in place of 12; in a test's own process 0.3 s in place of 3. Users' engines are
spawned, as vLLM does it on a CPU; so is the suite's own one (`SpawnedEngine`).
"""

from __future__ import annotations

import gc
import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection, context, popen_fork, popen_forkserver, popen_spawn_posix, spawn, util
from multiprocessing.context import reduction
from multiprocessing.forkserver import ForkServer, read_signed  # type: ignore[attr-defined]
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.running import RunningEngine
from relserve.vllm_plugin.child_process import PARENT_VARIABLE, PROCESS_NAME

NAMES = (PROCESS_NAME, "VllmWorker", "VLLM_DP_Coordinator")
PRELOADED = [
    "relserve.vllm_plugin.engine_main", "relserve.vllm_plugin.scheduler", "relserve.vllm_plugin.cpu_worker",
    "vllm.v1.engine.core", "vllm.v1.engine.async_llm", "vllm.v1.worker.cpu_model_runner",
    "vllm.model_executor.models.llama", "xgrammar",
]  # fmt: skip

_server = ForkServer()
_server.set_forkserver_preload(PRELOADED)
_thread = threading.local()
_reading = threading.Lock()


# The server ends when nobody has this pipe open, and engines end with the server: they must not keep it.
_LET_SERVER_END = (
    "from multiprocessing import forkserver; os.close(forkserver._forkserver._forkserver_alive_fd)"
)


# Of an engine of several copies, the first one's workers are forked off it in turn; the others' are spawned,
# as users' are.
_FORK_WORKERS = (
    "from multiprocessing import context, popen_fork; "
    "context.SpawnProcess._Popen = staticmethod(popen_fork.Popen)"
)


class _Environment:
    """Read in the new process, it makes the environment there what it is here."""

    def __init__(self, name: str) -> None:
        self._then = _FORK_WORKERS if name.endswith("_DP0") else "pass"

    def __reduce__(self) -> tuple[Any, ...]:
        variables = dict(os.environ)
        if PARENT_VARIABLE in variables:
            variables[PARENT_VARIABLE] = str(_server._forkserver_pid)  # type: ignore[attr-defined]
        code = f"import gc, os; gc.freeze(); os.environ.clear(); os.environ.update({variables!r})"
        return exec, (f"{code}; {_LET_SERVER_END}; {self._then}",)


class _Popen(popen_forkserver.Popen):
    """As of `multiprocessing`, from a server of its own and with this process's environment."""

    def _launch(self, process: BaseProcess) -> None:
        _server.ensure_running()
        data = spawn.get_preparation_data(process.name) | {"environment": _Environment(process.name)}
        written = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(data, written)
            reduction.dump(process, written)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, sent = _server.connect_to_new_process(self._fds)
        self.finalizer = util.Finalize(self, util.close_fds, (os.dup(sent), self.sentinel))
        with open(sent, "wb", closefd=True) as file:
            file.write(written.getbuffer())
        self.pid = read_signed(self.sentinel)

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        """As of `multiprocessing`, but no thread reads past the code that another has read (and gets 255)."""
        if flag != os.WNOHANG and self.returncode is None:
            connection.wait([self.sentinel])
        with _reading:
            return super().poll()


class PreparedProcess(BaseProcess):
    """A function in a process of its own that finds vLLM imported; what it starts is forked off in turn."""

    _start_method = "forkserver"

    @staticmethod
    def _Popen(process: BaseProcess) -> Any:
        return _Popen(process)

    def run(self) -> None:
        """See `Process.run`."""
        context.SpawnProcess._Popen = staticmethod(popen_fork.Popen)  # type: ignore[method-assign]
        super().run()


@contextmanager
def forked_engines() -> Iterator[None]:
    """Processes of vLLM that are started inside are forked off the prepared one."""

    def start(process: Any) -> Any:
        is_forked = process.name.startswith(NAMES) and not getattr(_thread, "spawns", False)
        return (_Popen if is_forked else popen_spawn_posix.Popen)(process)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context.SpawnProcess, "_Popen", staticmethod(start))
        yield


@contextmanager
def frozen_once() -> Iterator[None]:
    """What is there when vLLM's first engine starts in this process is passed over by the collector for good.

    vLLM freezes the heap when an engine has started and thaws it when it ends, and each time collects what it
    imported, a million objects, seven times. Later engines are not frozen, so what they leave is collected.
    """
    freeze, has_frozen = gc.freeze, threading.Event()

    def freeze_once() -> None:
        if not has_frozen.is_set():
            has_frozen.set()
            freeze()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "freeze", freeze_once)
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


class SpawnedEngine(LocalEngine):
    """One whose process is started as users' are."""

    def _launch(self) -> RunningEngine:
        _thread.spawns = True
        try:
            return super()._launch()
        finally:
            _thread.spawns = False
