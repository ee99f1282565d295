"""kill -9 of the client at random rows of a 5,000-row query: what is asked twice, what is lost.

The client is killed ten times; the result is compared with that of a run without kills and cache. Then the
same with kill -9 of the engine, twice in each of five runs, and with a full disk (a limit on the size of
files).

The ten moments lie in one query: each run goes on where the one before was killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks import resume_child
from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.cache.store import FILE_NAME

ROOMS = (
    "relserve/cache", "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call",
    "relserve/engines/local",
)  # fmt: skip
HEADLINE = {
    "rows": Untold("a size"), "kills": Untold("a size"), "asked_twice": Exact(0), "lost_max": Lower(by=100),
    "orphans": Exact(0), "right": Exact(True), "warnings_on_a_full_disk": Untold("in full runs"),
    "all_kept_s": Lower(1, timed=True), "minutes": Untold("a size"), "errors": Untold("--engine"),
    "came": Untold("--engine"), "asked at last": Untold("--engine"), "asked twice": Untold("--engine"),
    "complaints": Untold("--engine"),
}  # fmt: skip

KILLS = 10
DISK_LIMIT = 200_000  # bytes of a file, where about 800 answers fit


class ResumedChild:
    """The query in a process of its own: what it says, and what it leaves."""

    def __init__(self, folder: Path, rows: int, what: str) -> None:
        env = {**os.environ, "RELSERVE_CACHE_DIR": str(folder)}
        command = [sys.executable, "-m", "benchmarks.resume_child", what, str(rows)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )
        self.said: dict[str, Any] = {}

    def follow(self, kill_at: int | None = None) -> None:
        """Read what it says until it ends; kill it once it has so many answers."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            self.said |= event
            if kill_at is not None and event.get("answered", 0) >= kill_at:
                self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        assert self.process.returncode in (0, -signal.SIGKILL), self.process.stderr.read()  # type: ignore[union-attr]

    @property
    def complaints(self) -> list[str]:
        """What it wrote to stderr about the cache."""
        assert self.process.stderr is not None
        return [line for line in self.process.stderr.read().splitlines() if "the answer cache" in line]

    def orphans(self, within_s: float = 5.0) -> int:
        """Engine processes that are left some seconds after its end."""
        pids = self.said.get("engines", [])
        deadline = time.monotonic() + within_s
        while (left := [pid for pid in pids if _runs(pid)]) and time.monotonic() < deadline:
            time.sleep(0.05)
        return len(left)


def client_kills(
    folder: Path, rows: int, num_kills: int, rng: random.Random
) -> tuple[list[Any], dict[str, Any]]:
    """The query killed at random rows; gives a line a run, and what the last run says."""
    moments = sorted(rng.sample(range(rows // 20, rows * 19 // 20), num_kills))
    runs: list[dict[str, Any]] = []
    kept = 0
    for moment in (*moments, None):
        child = ResumedChild(folder, rows, "query" if moment is not None else "query,again,undisturbed")
        child.follow(None if moment is None else max(1, moment - kept))
        asked, came = child.said.get("asked", 0), child.said.get("answered", 0)
        distinct = runs[0]["asked"] if runs else asked
        before, kept = kept, num_kept(folder)
        runs.append({
            "killed": child.process.returncode != 0, "kept before": before, "asked": asked,
            "asked twice": asked - (distinct - before), "came": came, "lost": before + came - kept,
            "orphans": child.orphans(), "complaints": len(child.complaints),
        })  # fmt: skip
    return runs, child.said


def num_kept(folder: Path) -> int:
    """Answers on file, after a look at the file's health."""
    with sqlite3.connect(folder / FILE_NAME) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])


def engine_kills(folder: Path, rows: int) -> dict[str, Any]:
    """The engine killed twice in each of five runs, which that ends with an error; then the query again."""
    child = ResumedChild(folder, rows, ",".join([*["engine-killed"] * (KILLS // 2), "query", "undisturbed"]))
    child.follow()
    said, came, twice = child.said, 0, 0
    for one in [*said["rounds"], {"cached": said["all_cached"], "came": 0}]:
        twice += came - one["cached"]
        came += one["came"]
    return {
        "errors": [one["error"] for one in said["rounds"]], "came": [one["came"] for one in said["rounds"]],
        "asked at last": said["all_came"], "asked twice": twice, "right": said["right"],
        "orphans": child.orphans(), "complaints": len(child.complaints),
    }  # fmt: skip


def full_disk(folder: Path, rows: int) -> dict[str, Any]:
    """The query where the answers' file cannot grow beyond DISK_LIMIT."""
    child = ResumedChild(folder, rows, f"disk-{DISK_LIMIT},query,undisturbed")
    child.follow()
    complaints = child.complaints
    return {
        "kept": num_kept(folder), "right": child.said["right"], "orphans": child.orphans(),
        "complaints": len(complaints), "said": complaints[0] if complaints else "",
    }  # fmt: skip


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def main() -> None:
    """Print the tables and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--engine", action="store_true", help="only the engine is killed; saved by itself")
    args = parser.parse_args()
    if args.engine:
        with tempfile.TemporaryDirectory() as name:
            found = engine_kills(Path(name), resume_child.ROWS)
        print(table(list(found), [list(map(str, found.values()))]))
        finish("resume_engine", {"rows": resume_child.ROWS, "kills": KILLS, **found}, found, args.quick)
        return
    rows, num_kills = (1_000, 1) if args.quick else (resume_child.ROWS, KILLS)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, part) for part in ("client", "engine", "disk")]
        for folder in folders:
            folder.mkdir()
        runs, last = client_kills(folders[0], rows, num_kills, random.Random(11))
        print(table(list(runs[0]), [list(run.values()) for run in runs]))
        others = {} if args.quick else {
            "engine": engine_kills(folders[1], rows), "disk": full_disk(folders[2], rows)
        }  # fmt: skip
    for what, found in others.items():
        print(f"\n{what}: " + ", ".join(f"{key} {value}" for key, value in found.items()))
    each = [*runs, *others.values()]
    headline = {
        "rows": rows, "kills": num_kills, "asked_twice": sum(run.get("asked twice", 0) for run in each),
        "lost_max": max(run["lost"] for run in runs), "orphans": sum(run["orphans"] for run in each),
        "right": last["right"] and all(found["right"] for found in others.values()),
        "warnings_on_a_full_disk": others["disk"]["complaints"] if others else None,
        "all_kept_s": round(last["all_kept_s"], 2), "minutes": round((time.monotonic() - began) / 60, 1),
    }  # fmt: skip
    finish("resume", headline, {"client": runs, **others}, args.quick)


if __name__ == "__main__":
    main()
