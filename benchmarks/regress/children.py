"""A quick run in a process of its own: its last line, its seconds, and the speed of the machine beside it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, NamedTuple

from benchmarks.provenance import ROOT

SKIPPED = "skipped: "  # begins the line of a benchmark that cannot run here
ENDING_S = 30.0  # in which a benchmark ends its servers after Ctrl-C
NUM_SHOWN = 15  # last lines of one that failed


class EndedRun(NamedTuple):
    """What came of a quick run.

    Attributes:
        headline: its last line; None if it failed or was skipped.
        why: it has none, in words.
        probe_s: seconds of `probe_s`, the mean of before and after it.
    """

    headline: dict[str, Any] | None
    why: str
    seconds: float
    probe_s: float

    @property
    def is_skipped(self) -> bool:
        """It needs what is not here."""
        return self.why.startswith(SKIPPED)


def quick_command(name: str) -> list[str]:
    """Of a benchmark."""
    return [sys.executable, "-m", f"benchmarks.{name}", "--quick"]


def lacking(needs: Mapping[str, str]) -> str:
    """Of what a benchmark needs, what is not here, in words."""
    missing = [what for what in needs if not (ROOT / what).exists() and not shutil.which(what)]
    return f"{SKIPPED}needs " + ", ".join(f"{what} ({needs[what]})" for what in missing) if missing else ""


def probe_s() -> float:
    """Seconds that the machine takes for a fixed piece of work at the moment: the median of some."""
    took = []
    for _ in range(15):
        began_s = time.perf_counter()
        sum(number * number % 7 for number in range(200_000))
        took.append(time.perf_counter() - began_s)
    return statistics.median(took)


def run_quick(command: Sequence[str], limit_s: float) -> EndedRun:
    """Run it to its end, or for so long; what it started is ended with it."""
    before_s, began_s = probe_s(), time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = start(command, out, err)
        try:
            status: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end(process)
        seconds = time.perf_counter() - began_s
        said = [file.read().splitlines() for file in (out, err) if file.seek(0) == 0]
    headline, why = _outcome(status, *said, limit_s)
    return EndedRun(headline, why, seconds, (before_s + probe_s()) / 2)


def start(command: Sequence[str], out: IO[str] | int, err: IO[str] | int) -> subprocess.Popen[str]:
    """A process in a session of its own, which hears Ctrl-C; a shell's background jobs ignore it."""
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> None:
    """End a process as Ctrl-C does, if it still runs; then kill what is left of its group."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(ENDING_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _outcome(
    status: int | None, out: Sequence[str], err: Sequence[str], limit_s: float
) -> tuple[dict[str, Any] | None, str]:
    """The headline, or why there is none."""
    last = "\n".join([*err[-NUM_SHOWN:], *out[-NUM_SHOWN:]])
    if status is None:
        return None, f"took longer than {limit_s:g} s\n{last}"
    if status:
        return None, f"ended with status {status}\n{last}"
    with contextlib.suppress(IndexError, json.JSONDecodeError):
        headline = json.loads(out[-1])
        if isinstance(headline, dict):
            return headline, ""
    told = [line for line in err if line.startswith(SKIPPED)]
    return None, told[-1] if told else f"its last line is no JSON\n{last}"
