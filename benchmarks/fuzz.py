"""10,000 random templates, options, values and texts: whether any crashes, hangs or gives a wrong type.

Also whether what plain DuckDB refuses is refused with DuckDB's own exception. This is
tests/duckdb_ext/test_fuzz.py at length, with inputs that are always new.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.claims import Exact, Untold
from benchmarks.common import ROOT, arguments, finish, table

ROOMS = ("duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call")
HEADLINE = {
    "cases": Untold("a size"), "texts_run": Untold("a size"), "properties": Untold("a size"),
    "failed": Exact(0), "crashed": Exact(False), "seconds": Untold("hypothesis's choice of inputs"),
}  # fmt: skip

TESTS = "tests/duckdb_ext/test_fuzz.py"


def main() -> None:
    """Print what came of the texts, and the headline; status 1 if a property does not hold."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--cases", type=int, default=10_000, help="how many, over all properties")
    args = parser.parse_args()
    num_cases = 300 if args.quick else args.cases
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        environment = {**os.environ, "FUZZ_CASES": str(num_cases), "FUZZ_REPORT": str(report)}
        started = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        outcomes = json.loads(report.read_text()) if report.exists() else {}
    if ran.returncode:
        sys.stderr.write(ran.stdout[-8000:] + ran.stderr[-2000:])
    passed = re.search(r"(\d+) passed", ran.stdout)
    failed = re.search(r"(\d+) failed", ran.stdout)
    rows = sorted(outcomes.items(), key=lambda item: -item[1])
    print(table(["outcome", "texts"], [list(row) for row in rows]))
    headline = {
        "cases": num_cases, "texts_run": sum(outcomes.values()),
        "properties": int(passed[1]) if passed else 0,
        "failed": int(failed[1]) if failed else 0, "crashed": ran.returncode not in (0, 1),
        "seconds": round(seconds),
    }  # fmt: skip
    finish("fuzz", headline, dict(rows), args.quick)
    sys.exit(1 if ran.returncode else 0)


if __name__ == "__main__":
    main()
