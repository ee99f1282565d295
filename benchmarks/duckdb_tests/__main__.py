"""DuckDB's own tests, in plain DuckDB and in ours, give the same rows and errors, inside llm calls as well.

    python -m benchmarks.duckdb_tests [FOLDER]

FOLDER holds sqllogictest files, as test/sql of duckdb/duckdb does; without it, the one that
RELSERVE_DUCKDB_TESTS names. Each file runs in a new database of either side. What the files expect is not
looked at: plain DuckDB, of the installed release, says what is right.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path

from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.duckdb_tests.child import FilesChild
from benchmarks.duckdb_tests.compare import Difference, FileComparison

ROOMS = ("duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call")
HEADLINE = {
    "files": Untold("a size"), "records": Untold("a size"), "skipped": Untold("a size"),
    "with_known_reasons": Untold("listed in the results"), "differences": Exact(0),
}  # fmt: skip
NUM_PROCESSES = 2
VARIABLE = "RELSERVE_DUCKDB_TESTS"
OWN = Path(__file__).parent


SHOWN = 300  # characters of an answer or an error that are saved


def main() -> None:
    """Print each difference and the headline; status 1 if one has no known reason."""
    parser = arguments(__doc__ or "")
    parser.add_argument("folder", type=Path, nargs="?", default=os.environ.get(VARIABLE) or None)
    parser.add_argument("--files", type=int, default=1200, help="how many to run")
    parser.add_argument("--minutes", type=float, default=9.0, help="after which no other file is begun")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    folder = OWN if args.quick else folder_of_tests(args.folder)
    began_s = time.monotonic()
    found = compared(folder, args.seed, args.files, began_s + 60 * args.minutes)
    headline = headline_of(found)
    details = {
        "skipped": dict(Counter(each.skipped for each in found if each.skipped).most_common()),
        "differences": [
            {name: each[:SHOWN] if isinstance(each, str) else each for name, each in one._asdict().items()}
            for of_file in found for one in of_file.differences
        ],
        "seconds": round(time.monotonic() - began_s), "seed": args.seed,
    }  # fmt: skip
    print(table(["skipped", "files"], list(details["skipped"].items())))
    finish("duckdb_tests", headline, details, args.quick)
    sys.exit(1 if headline["differences"] else 0)


def compared(folder: Path, seed: int, num_files: int, until_s: float) -> list[FileComparison]:
    """What came of the files, in processes side by side; of fewer than wanted if the time is over."""
    found: list[FileComparison] = []
    paths = chosen(folder, seed)
    taking = threading.Lock()

    def work() -> None:
        child = FilesChild()
        while time.monotonic() < until_s and sum(not each.skipped for each in found) < num_files:
            with taking:
                path = next(paths, None)
            if path is None:
                break
            each = child.compare(path.resolve(), str(path.relative_to(folder)))
            found.append(each)
            for difference in each.differences:
                show(difference)
        child.end()

    with ThreadPoolExecutor(NUM_PROCESSES) as threads:
        for worker in [threads.submit(work) for _ in range(NUM_PROCESSES)]:
            worker.result()
    return found


def folder_of_tests(folder: Path | None) -> Path:
    """The folder of test files; exits with a clear line where there is none."""
    if folder is None or not any(Path(folder).rglob("*.test")):
        said = f"in {folder}" if folder else "named"
        sys.stderr.write(
            f"skipped: no folder of sqllogictest files {said}; give test/sql of a checkout of duckdb/duckdb "
            f"as the argument or in {VARIABLE}\n"
        )
        sys.exit(0)
    return Path(folder)


def chosen(folder: Path, seed: int) -> Iterator[Path]:
    """The files in a random order in which each folder has its turn."""
    by_folder = defaultdict(list)
    for path in sorted(folder.rglob("*.test")):
        by_folder[path.relative_to(folder).parts[0]].append(path)
    for paths in by_folder.values():
        random.Random(seed).shuffle(paths)
    for turn in zip_longest(*by_folder.values()):
        yield from (path for path in turn if path is not None)


def headline_of(found: list[FileComparison]) -> dict[str, int]:
    """The figures of the last line."""
    differences = [one for each in found for one in each.differences]
    return {
        "files": sum(not each.skipped for each in found), "records": sum(each.records for each in found),
        "skipped": sum(bool(each.skipped) for each in found),
        "with_known_reasons": sum(bool(one.reason) for one in differences),
        "differences": sum(not one.reason for one in differences),
    }  # fmt: skip


def show(difference: Difference) -> None:
    """Print it, with its file and line."""
    its = f"{difference.file}:{difference.line} {difference.form}"
    print(f"{its}: {difference.reason}" if difference.reason else its)
    if not difference.reason:
        print(f"   plain: {difference.plain[:300]}\n   ours:  {difference.ours[:300]}", flush=True)


if __name__ == "__main__":
    main()
