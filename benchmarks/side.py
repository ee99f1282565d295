"""A side of a comparison in a process of its own, which answers each line of its input with one of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

# Of variables that no side takes over from here; the last is a setting that older checkouts do not know.
PREFIXES = ("OMP_", "VLLM_", "GOMP_", "KMP_", "RELSERVE_KEEP_LEARNT")
LAST_LINES = 20  # of what a side that ended wrote to stderr, to be shown


class SideProcess:
    """The process.

    Args:
        variables: of its environment, over those here without any of PREFIXES.
        name: of the program.
    """

    def __init__(self, command: Sequence[str], folder: Path, variables: Mapping[str, str], name: str) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(PREFIXES)}
        self._name, self._errors = name, tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            command, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, env=kept | dict(variables),
        )  # fmt: skip

    def told(self, line: str) -> Any:
        """What it answers to a line.

        Raises:
            RuntimeError: it has ended; with the last lines that it wrote.
        """
        into, out = self._pipes()
        with contextlib.suppress(BrokenPipeError):
            into.write(line + "\n")
            into.flush()
        if not (answer := out.readline()):
            self._errors.seek(0)
            last = "".join(self._errors.readlines()[-LAST_LINES:])
            raise RuntimeError(f"{self._name} ended:\n{last}")
        return json.loads(answer)

    def close(self) -> None:
        """End it; its own end comes with that of its input."""
        for pipe in self._pipes():
            pipe.close()
        self.process.wait(timeout=60)
        self._errors.close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin
        assert self.process.stdout
        return self.process.stdin, self.process.stdout
