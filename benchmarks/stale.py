"""Which result files are older than the code that they measured, and by how many commits.

The commits are those since the file's that touched a room of its benchmark (see `claims`). With --write-docs
only the column of docs/benchmarks.md is renewed, which says commit and day of each line; a full run does that
for its own file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.claims import Benchmark, benchmarks
from benchmarks.common import renew_page, table
from benchmarks.provenance import ROOT
from benchmarks.saved import Saved, saved_results

Count = Callable[[str, Sequence[str]], int]


class Age(NamedTuple):
    """A result file, and the commits since its own that touched the rooms of its benchmark."""

    saved: Saved
    commits: int
    rooms: Sequence[str]


def ages(saved: Sequence[Saved], declared: Mapping[str, Benchmark], commits_since: Count) -> list[Age]:
    """The age of each file, the oldest first.

    Args:
        commits_since: how many commits since one touched some rooms.

    Raises:
        KeyError: a file's benchmark declares no rooms.
    """
    found = []
    for each in saved:
        rooms = declared[each.benchmark].rooms
        found.append(Age(each, commits_since(each.commit, rooms), rooms))
    return sorted(found, key=lambda age: (-age.commits, age.saved.name))


def commits_since(commit: str, rooms: Sequence[str]) -> int:
    """How many commits of this history since one touched some rooms.

    Raises:
        subprocess.CalledProcessError: the commit is not in this history.
    """
    words = ["git", "rev-list", "--count", f"{commit}..HEAD", "--", *rooms]
    return int(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    """Print the table, or renew the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help="renew the column of docs/benchmarks.md")
    if parser.parse_args().write_docs:
        renew_page()
        return 0
    try:
        found = ages(saved_results(), benchmarks(), commits_since)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"git does not know a file's commit, perhaps in a shallow clone: {error.stderr}")
        return 1
    rows = [
        [commits, saved.name, saved.commit, saved.day, ", ".join(rooms)] for saved, commits, rooms in found
    ]
    print(table(["commits", "result file", "measured at", "on", "rooms that the commits touched"], rows))
    older = sum(age.commits > 0 for age in found)
    print(f"\n{older} of {len(found)} files are older than what they measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
