"""How long a person waits: `relserve --help`, five rows from a cold and a warm engine, and two notebooks.

"First row" is the first byte on stdout after Enter. Cold: no engine is up, and the command starts the shared
one, of which the table shows where the seconds go. Warm: it is up. Own: as it was before there was a shared
engine, each process starts its own. Then two processes use one shared engine as two notebooks do: one has
5,000 rows classified, the other asks about five 2 s later; on an engine with vLLM's own order, and on one
with relserve's. Each run has rows of its own, so that the prefix cache serves none.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.provenance import ROOT
from benchmarks.second_connection import big_query, small_query
from benchmarks.side import SideProcess
from relserve.policies.scheduling.variants import DEFAULT

ROOMS = (
    "relserve/cli", "relserve/resident", "relserve/engines", "relserve/vllm_plugin",
    "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "warm_s": Lower(0.6, timed=True), "cold_s": Lower(0.6, timed=True), "help_s": Lower(0.6, timed=True),
    "own_s": Lower(0.6, timed=True), "times_sooner": Untold("in full runs"), "phases_null": Exact(0),
}  # fmt: skip

HEAD_START_S = 2.0
LAST = 9_990  # of the rows that big queries ask; the small ones ask the last
RELSERVE = [sys.executable, "-m", "relserve"]
FIVE = "SELECT review, llm_score('How many stars? {}', review, lo := 1, hi := 5) FROM reviews LIMIT 5"
SQL = [*RELSERVE, "sql", "--examples", "--no-cache", "--format", "csv"]
VARIANTS = {"stock FCFS": "stock", f"{DEFAULT} guarded": DEFAULT}
PARTS = ("listening", "forked", "ready")


@contextmanager
def place_of_its_own(**variables: str) -> Iterator[dict[str, str]]:
    """An environment whose shared engines are nobody else's; they are stopped at the end."""
    folder = tempfile.mkdtemp(prefix="rs-")
    environ = {**os.environ, "XDG_RUNTIME_DIR": folder, "RELSERVE_CACHE_DIR": f"{folder}/cache", **variables}
    try:
        yield environ
    finally:
        subprocess.run([*RELSERVE, "engine", "stop", "--all"], env=environ, capture_output=True, check=False)
        shutil.rmtree(folder)


def first_byte_s(command: list[str], environ: Mapping[str, str]) -> float:
    """Seconds from the start of a command to the first byte of what it prints."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout
    first = process.stdout.read(1)
    seconds = time.perf_counter() - started
    _, errors = process.communicate()
    if not first or process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {errors.decode()}")
    return seconds


def cold_start() -> tuple[float, float, dict[str, float]]:
    """Seconds of a cold and a warm command, and when the engine's process had got how far."""
    with place_of_its_own(RELSERVE_ENGINE="shared") as environ:
        cold_s = first_byte_s([*SQL, FIVE], environ)
        status = subprocess.run(
            [*RELSERVE, "engine", "status", "--json"], env=environ, capture_output=True, text=True, check=True
        )
        warm_s = first_byte_s([*SQL, f"{FIVE} OFFSET 5"], environ)
        return cold_s, warm_s, json.loads(status.stdout)["start_s"]


def two_notebooks(
    variant: str, num_rows: int, rounds: Sequence[int]
) -> Iterator[tuple[float, float, list[float]]]:
    """Seconds of the small and the big query of two processes on one engine, and the small one's phases.

    Each round begins after another row of the table.
    """
    settings = json.dumps({"additional_config": {"relserve": {"variant": variant}}})
    with place_of_its_own(RELSERVE_ENGINE="shared", RELSERVE_ENGINE_ARGS=settings) as environ:
        command = [sys.executable, "-m", "benchmarks.notebook"]
        big, small = (SideProcess(command, ROOT, environ, "benchmarks.notebook") for _ in range(2))
        small.told("SELECT llm('warm up')")
        for first in rounds:
            query = f"{big_query(first + num_rows)} AND id > {first}"
            with ThreadPoolExecutor() as pool:
                asked = pool.submit(big.told, query)
                time.sleep(HEAD_START_S)
                told = small.told(small_query(5))
                yield told["seconds"], asked.result()["seconds"], told["phases"]
        big.close()
        small.close()


def main() -> None:
    """Print the tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    repeats = 1 if args.quick else 3
    environ = {**os.environ, "RELSERVE_ENGINE": "own"}
    help_s = statistics.median(first_byte_s([*RELSERVE, "--help"], environ) for _ in range(5))
    starts = [cold_start() for _ in range(repeats)]
    own = [first_byte_s([*SQL, FIVE], environ) for _ in range(1 if args.quick else repeats)]
    cold_s, warm_s = (statistics.median(each[i] for each in starts) for i in (0, 1))
    parts = {part: statistics.median(each[2][part] for each in starts) for part in PARTS}
    rows = [
        ["relserve --help", help_s], ["5 rows, shared engine, warm", warm_s],
        ["5 rows, shared engine, cold", cold_s], *[[f"  its process {k} after", v] for k, v in parts.items()],
        ["5 rows, an engine of its own", statistics.median(own)],
    ]  # fmt: skip
    print(table(["what", "s to the first row"], rows), "\n")
    runs = [
        [name, *run[:2], *run[2]]
        for name, variant in list(VARIANTS.items())[1 if args.quick else 0 :]
        for run in two_notebooks(variant, *((1_500, [0]) if args.quick else (LAST // 2, [0, LAST // 2])))
    ]
    print(table(["scheduler", "small, s", "big, s", "waiting, s", "core, s", "tail, s"], runs))
    headline = {
        "warm_s": round(warm_s, 2), "cold_s": round(cold_s, 2), "help_s": round(help_s, 2),
        "own_s": round(statistics.median(own), 2),
        "phases_null": sum(value is None for run in runs for value in run[3:]),
    }  # fmt: skip
    if not args.quick:  # which has no engine with vLLM's own order; see second_connection
        small = [statistics.median(run[1] for run in runs if run[0] == name) for name in VARIANTS]
        headline["times_sooner"] = round(small[0] / small[1], 1)
    details = {"starts": starts, "own": own, "notebooks": runs}
    finish("start_up", headline, details, args.quick)


if __name__ == "__main__":
    main()
