"""kill -9 of the engine in mid-query: whether the query finishes or fails clearly, and what is left after.

The query after it works. Each run is a process of its own, in which the engine is killed once or twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import psutil

from benchmarks.beer import CHOICES, classify_call, create_beer_table
from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table

ROOMS = ("relserve/engines/local", "relserve/session", "relserve/vllm_plugin")
HEADLINE = {
    "runs": Untold("a size"), "finished_or_clear_error": Exact(True), "next_query_works": Exact(True),
    "orphans": Exact(0),
}  # fmt: skip


def child(kill_after_s: list[float]) -> None:
    """Run a query, killing the engine core after each of the given delays; report as one JSON line."""
    from relserve.api import connect, find_engine
    from relserve.errors import EngineError

    con = connect(model="tiny", progress=False)
    create_beer_table(con)
    con.execute("SELECT llm('warm up')").fetchall()
    engine: Any = find_engine("tiny")
    call = classify_call()

    def kill() -> None:
        for delay in kill_after_s:
            deadline = time.monotonic() + 120
            while engine.pid is None and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(delay)
            if engine.pid is not None:
                os.kill(engine.pid, signal.SIGKILL)
                time.sleep(2)

    killer = threading.Thread(target=kill)
    killer.start()
    started = time.monotonic()
    try:
        rows = con.execute(f"SELECT {call} FROM beer WHERE id <= 1500").fetchall()
        outcome = f"finished, {sum(r[0] in CHOICES for r in rows)} of {len(rows)} answered"
    except EngineError as error:
        outcome = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - started
    killer.join()
    rows = con.execute(f"SELECT {call} FROM beer WHERE id <= 20").fetchall()
    report = {
        "outcome": outcome, "seconds": seconds, "next_answered": sum(r[0] in CHOICES for r in rows),
        "children": [p.pid for p in psutil.Process().children(recursive=True)],
    }  # fmt: skip
    print(json.dumps(report), flush=True)
    con.close()


def measure(kill_after_s: list[float]) -> dict[str, Any]:
    """One run in a process of its own; looks for what it left behind."""
    command = [sys.executable, "-m", "benchmarks.engine_death", "--child", *map(str, kill_after_s)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    report = json.loads(done.stdout.splitlines()[-1])
    time.sleep(2)
    report["orphans"] = sum(psutil.pid_exists(pid) for pid in report.pop("children"))
    return {"kills": len(kill_after_s), "exit": done.returncode, **report}


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--child", nargs="+", type=float, help="internal: delays before each kill, in seconds"
    )
    args = parser.parse_args()
    if args.child:
        return child(args.child)
    rng = random.Random(7)
    plans = [[1.0]] if args.quick else [[rng.uniform(0.1, 6)] for _ in range(4)] + [[1.0, 1.0]]
    runs = [measure(plan) for plan in plans]
    print(table(list(runs[0]), [list(r.values()) for r in runs]))
    headline = {
        "runs": len(runs),
        "finished_or_clear_error": all(
            "1500 of 1500" in r["outcome"] or "Error: " in r["outcome"] for r in runs
        ),
        "next_query_works": all(r["next_answered"] == 20 for r in runs),
        "orphans": sum(r["orphans"] for r in runs),
    }
    finish("engine_death", headline, runs, args.quick)


if __name__ == "__main__":
    main()
