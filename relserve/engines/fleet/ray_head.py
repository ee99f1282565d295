"""Ray on this machine, started for one process and ended with it; nothing here imports Ray.

Its ports can be reached from elsewhere, so that it takes a token, made for this process, with every message.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from relserve.errors import EngineStartError

START_S = 90.0  # in which it comes up; 5 s on a free machine
STORE_BYTES = 128 * 2**20  # of shared memory, through which submissions of thousands of rows pass
ADDRESS = "ray_current_cluster"  # Ray's file in its folder
TOKEN = secrets.token_hex(32)  # one for the process: Ray's client remembers it


class RayHead:
    """A cluster of one machine, in a folder of its own, without dashboard and statistics of use."""

    def __init__(self) -> None:
        self._guard: subprocess.Popen[bytes] | None = None
        self._before: dict[str, str | None] = {}

    def prepare(self) -> None:
        """Set the token; to be called before Ray is imported, which reads it then."""
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        self._before = {name: os.environ.get(name) for name in token}
        os.environ |= token

    def start(self) -> str:
        """Start it and give its address; blocks for seconds.

        Raises:
            EngineStartError: it does not come up.
        """
        folder = Path(tempfile.mkdtemp(prefix="relserve-ray-"))
        command = [
            sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--port=0", "--num-cpus=0",
            f"--temp-dir={folder}", f"--object-store-memory={STORE_BYTES}", "--include-dashboard=false",
            "--include-log-monitor=false", "--no-monitor", "--disable-usage-stats", "--block",
        ]  # fmt: skip
        guard = [sys.executable, "-m", "relserve.engines.fleet.guard", str(os.getpid()), str(folder)]
        self._guard = subprocess.Popen(
            [*guard, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        deadline_s, printed = time.monotonic() + START_S, ""
        while time.monotonic() < deadline_s and self._guard.poll() is None:
            with contextlib.suppress(OSError):
                printed = (folder / "start.log").read_text(encoding="utf-8", errors="replace")
            with contextlib.suppress(OSError):
                if address := (folder / ADDRESS).read_text(encoding="utf-8").strip():
                    return address
            time.sleep(0.05)
        self.end()
        lines = printed.strip().splitlines() or ["it said nothing"]
        raise EngineStartError(f"Ray did not come up on this machine: {lines[-1]}")

    def end(self) -> None:
        """End it, with all that runs in it, and wait for that; its folder goes."""
        guard, self._guard = self._guard, None
        if guard is not None and guard.stdin is not None:
            guard.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.wait(10)
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = {}
