"""Starting and stopping a real server in a process of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

START_S = 270  # on a busy machine; below the time limit of a test
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class ServerProcess(ABC):
    """A server of the model at `model`, always on the same port; started when first needed."""

    model: Path
    log: Path
    port: int = field(default_factory=free_port)
    process: Any = None  # a `subprocess.Popen`, or what has its methods

    env: ClassVar[Mapping[str, str]] = {}
    ready_path: ClassVar[str]  # answers once the server does

    @property
    @abstractmethod
    def command(self) -> list[str]:
        """The command line."""

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
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                self.command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **self.env},
                start_new_session=True, preexec_fn=_end_with_parent,
            )  # fmt: skip

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        ready = self.url.removesuffix("/v1") + self.ready_path
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(ready, timeout=2).close()
                return
            time.sleep(0.3)
        self.stop()
        pytest.fail(f"{self.command[0]} did not come up:\n{self.log.read_text()[-4000:]}")


def _end_with_parent() -> None:
    """Have the kernel end this process when the tests' process ends, even by kill -9 (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
