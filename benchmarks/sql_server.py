"""A `relserve serve` in a process of its own, for benchmarks of the SQL server."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from benchmarks.provenance import ROOT

START_S, END_S = 60.0, 30.0
WHERE = re.compile(r"served on .*:(\d+)")


class SqlServer:
    """A server, listening once it is made.

    Args:
        database: DuckDB's file.
        environ: of its process.

    Attributes:
        port: on which it listens, of this machine.
    """

    def __init__(self, database: Path, environ: Mapping[str, str], arguments: tuple[str, ...] = ()) -> None:
        self._log = tempfile.NamedTemporaryFile(prefix="relserve-serve-", suffix=".log")
        command = [sys.executable, "-m", "relserve", "serve", str(database), "--port", "0", "--no-cache"]
        self._process = subprocess.Popen(
            [*command, *arguments], env=dict(environ), cwd=ROOT, stdout=self._log, stderr=subprocess.STDOUT
        )
        self.port = self._wait_until_up()

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def close(self) -> None:
        """End it in order; by force where that takes too long."""
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def __enter__(self) -> SqlServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:
            sys.stderr.write(f"the server's log ends:\n{self._said()[-6000:]}\n")
        self.close()

    def _wait_until_up(self) -> int:
        deadline = time.monotonic() + START_S
        while self._process.poll() is None and time.monotonic() < deadline:
            found = WHERE.search(self._said())
            if found is not None:
                return int(found[1])
            time.sleep(0.05)
        said = self._said()
        self.close()
        raise RuntimeError(f"relserve serve did not come up:\n{said[-6000:]}")

    def _said(self) -> str:
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")


class ResidentMemory:
    """The resident memory of a process, noted once a second while inside.

    Attributes:
        noted: seconds since the beginning, and bytes.
    """

    def __init__(self, pid: int) -> None:
        self.noted: list[tuple[float, int]] = []
        self._process, self._done = psutil.Process(pid), threading.Event()
        self._thread = threading.Thread(target=self._note)

    def _note(self) -> None:
        began_s = time.monotonic()
        while not self._done.wait(1.0):
            self.noted.append((time.monotonic() - began_s, self._process.memory_info().rss))

    def __enter__(self) -> ResidentMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
