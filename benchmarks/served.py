"""A `vllm serve` in a process of its own, of the embedded model unless told, for benchmarks of servers."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from relserve.tiny import MODEL_DIR

SCHEDULER = "relserve.vllm_plugin.scheduler.make"
NAME = "tiny"
START_S, END_S = 300.0, 20.0
PR_SET_PDEATHSIG = 1
ENV = {
    "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1",
    "VLLM_SERVER_DEV_MODE": "1",  # for /reset_prefix_cache
}  # fmt: skip


class ServedProcess:
    """A server, up once it is made; with vLLM's own scheduler, or with relserve's.

    Args:
        arguments: further ones of its command line.
        variables: of its environment, over those here.
    """

    def __init__(
        self,
        is_ours: bool,
        arguments: Sequence[str] = (),
        model: Path = MODEL_DIR,
        variables: Mapping[str, str] = ENV,
    ) -> None:
        self.root = f"http://127.0.0.1:{_free_port()}"
        self.url = self.root + "/v1"
        self._log = tempfile.NamedTemporaryFile(prefix="vllm-serve-", suffix=".log")
        self._process = subprocess.Popen(
            [*self._command(is_ours, model), *arguments], env={**os.environ, **ENV, **variables},
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_end_with_parent,
        )  # fmt: skip
        self._wait_until_up()

    def _command(self, is_ours: bool, model: Path) -> list[str]:
        port = self.root.rpartition(":")[2]
        return [
            str(Path(sys.executable).with_name("vllm")), "serve", str(model), "--served-model-name", NAME,
            "--host", "127.0.0.1", "--port", port, "--dtype", "float32", "--enforce-eager",
            "--block-size", "32", "--max-model-len", "2048", "--disable-uvicorn-access-log",
            *(["--scheduler-cls", SCHEDULER] if is_ours else []),
        ]  # fmt: skip

    def forget_prefixes(self) -> None:
        """Empty the prefix cache."""
        request = urllib.request.Request(f"{self.root}/reset_prefix_cache", method="POST")
        urllib.request.urlopen(request, timeout=30).close()

    def close(self) -> None:
        """End it, and whatever processes it started."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def __enter__(self) -> ServedProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:
            sys.stderr.write(f"the server's log ends:\n{self._said()}\n")
        self.close()

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.root}/health", timeout=2).close()
                return
            time.sleep(0.3)
        said = self._said()
        self.close()
        raise RuntimeError(f"vllm serve did not come up:\n{said}")

    def _said(self) -> str:
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")[-6000:]


def _end_with_parent() -> None:
    """Have the kernel end the server when the benchmark ends, even by kill -9 (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
