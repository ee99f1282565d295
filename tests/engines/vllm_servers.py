"""Real `vllm serve` processes."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from server_process import ServerProcess

from relserve.vllm_plugin.engines import inspect_models_here
from tests.prepared import PreparedProcess

SCHEDULER = "relserve.vllm_plugin.scheduler.make"
ONE_PROCESS = "vllm.v1.executor.uniproc_executor.UniProcExecutor"


@dataclass
class VllmServer(ServerProcess):
    """A `vllm serve` of the model's folder.

    It is forked off a prepared process (tests/prepared.py), which saves 10 s of a core for each process.

    Attributes:
        arguments: further ones of the command line.
        has_worker: as vLLM has it on a CPU: a process for the scheduler and one for the model. Else one is
            for both.
    """

    arguments: tuple[str, ...] = ()
    has_worker: bool = False
    env: ClassVar = {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "INFO",  # a local engine in this process lowers it
        "TORCH_COMPILE_DISABLE": "1",  # else the first answer with probabilities waits 20 s for a compiler
    }
    ready_path = "/health"

    @property
    def command(self) -> list[str]:
        command = [
            "vllm", "serve", str(self.model), "--served-model-name",
            "tiny", "--host", "127.0.0.1", "--port", str(self.port), "--dtype", "float32", "--enforce-eager",
            "--block-size", "32", "--max-model-len", "2048", "--max-num-seqs", "32",
            *self.arguments,
        ]  # fmt: skip
        if not self.has_worker:
            command += ["--distributed-executor-backend", ONE_PROCESS]
        if find_spec(SCHEDULER.rpartition(".")[0]):
            command += ["--scheduler-cls", SCHEDULER]
        return command

    def _start(self) -> None:
        process = PreparedProcess(target=_serve, args=(self.command, str(self.log), self.env))
        process.start()
        self.process = process._popen  # type: ignore[attr-defined]

    def kill(self) -> None:
        """See `ServerProcess.kill`; with the processes forked off it, which have its port, too."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)


def _serve(command: list[str], log: str, env: dict[str, str]) -> None:
    """`vllm serve`, which has read some of its environment before, as it was imported."""
    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(file, number)
    os.environ.update(env)
    sys.argv = command
    import torch._dynamo.config
    from vllm.entrypoints.cli.main import main
    from vllm.logger import _configure_vllm_root_logger

    inspect_models_here()
    torch._dynamo.config.disable = env["TORCH_COMPILE_DISABLE"] == "1"
    _configure_vllm_root_logger()
    main()
