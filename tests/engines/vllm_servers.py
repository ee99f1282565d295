"""Starting and stopping real `vllm serve` processes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

SCHEDULER = "relserve.vllm_plugin.scheduler.make"
START_S = 270  # on a busy machine; below the time limit of a test
PR_SET_PDEATHSIG = 1
VLLM_ENV = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "INFO",  # a local engine in this process lowers it
}


@dataclass
class VllmServer:
    """A `vllm serve` of the model at `model`, always on the same port; started when first needed."""

    model: Path
    log: Path
    port: int = field(default_factory=lambda: free_port())
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def ensure_up(self) -> None:
        """Start it if it does not run, and wait until it answers."""
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self._start()
            self._wait_until_up()

    def kill(self) -> None:
        """kill -9 of the process that one would find listening on the port."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=10)

    def stop(self) -> None:
        """Ask it to end, then end whatever is left of its process group."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)
        self.process = None

    def _start(self) -> None:
        command = [
            str(Path(sys.executable).with_name("vllm")), "serve", str(self.model), "--served-model-name",
            "tiny", "--host", "127.0.0.1", "--port", str(self.port), "--dtype", "float32", "--enforce-eager",
            "--block-size", "32", "--max-model-len", "2048", "--max-num-seqs", "32",
        ]  # fmt: skip
        if find_spec(SCHEDULER.rpartition(".")[0]):
            command += ["--scheduler-cls", SCHEDULER]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **VLLM_ENV},
                start_new_session=True, preexec_fn=_end_with_parent,
            )  # fmt: skip

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(self.url.removesuffix("/v1") + "/health", timeout=2).close()
                return
            time.sleep(0.3)
        self.stop()
        pytest.fail(f"vllm serve did not come up:\n{self.log.read_text()[-4000:]}")


def _end_with_parent() -> None:
    """Have the kernel end this process when the tests' process ends, even by kill -9 (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
