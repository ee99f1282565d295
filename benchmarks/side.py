"""A side of a comparison in a process of its own, which answers each line of its input with one of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

# Of variables that no side takes over from here; the last is a setting that older checkouts do not know.
PREFIXES = ("OMP_", "VLLM_", "GOMP_", "KMP_", "RELSERVE_KEEP_LEARNT")


class SideProcess:
    """The process.

    Args:
        variables: of its environment, over those here without any of PREFIXES.
        by_hand: the program, to be run by hand to see why it ended.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, variables: Mapping[str, str], by_hand: str
    ) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
        self._by_hand = by_hand
        self.process = subprocess.Popen(
            command, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=kept | dict(variables),
        )  # fmt: skip

    def told(self, line: str) -> Any:
        """What it answers to a line."""
        into, out = self._pipes()
        into.write(line + "\n")
        into.flush()
        said = out.readline()
        assert said, f"a side ended; run {self._by_hand} by hand to see why"
        return json.loads(said)

    def close(self) -> None:
        """End it; its own end comes with that of its input."""
        for pipe in self._pipes():
            pipe.close()
        self.process.wait(timeout=60)

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin
        assert self.process.stdout
        return self.process.stdin, self.process.stdout
