"""What the lock of `relserve serve` says of made-up texts, against what DuckDB does: nothing gets past it.

Texts are made from a seed of what readers of SQL differ in (blanks, quotes, comments, tags, statements in
statements) around what a plain user may not do. What the lock lets through runs in a child process, on a
DuckDB without any lock; whatever it does there that is not a plain user's to do is a difference. Of what the
lock refuses some run there as well: how many of them do such a thing says how sharp the eye is.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.lock.locked import Locked, LockedChild
from benchmarks.lock.texts import made
from relserve.server.client.split import split

ROOMS = ("relserve/server/users", "relserve/server/client", "relserve/server/catalog")
HEADLINE = {
    "texts": Untold("how many are made"), "differences": Exact(0),
    "ran": Untold("what of them DuckDB can run"), "seen": Untold("of refused texts, by chance"),
}  # fmt: skip

NUM_TEXTS, NUM_QUICK = 100_000, 2_000
RUN_REFUSED = 100  # of so many texts a refused one runs, too
SEED = 31
_NETWORK = ("install", "httpfs")


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--texts", type=int, help="how many; nothing is saved")
    parser.add_argument("--seed", type=int, default=SEED, help="nothing is saved with another one")
    args = parser.parse_args()
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it tells of each text that it cannot read
    count = args.texts or (NUM_QUICK if args.quick else NUM_TEXTS)
    with tempfile.TemporaryDirectory(prefix="relserve-lock-") as folder:
        compared = LockComparison(Path(folder), args.seed, count, count // RUN_REFUSED)
        try:
            compared.compare()
        finally:
            compared.child.end()
    print(table(["texts", *COLUMNS], compared.rows()))
    for told in compared.told[:20]:
        print(f"  {told[:500]}")
    headline = {
        "texts": count, "differences": len(compared.told), "ran": compared.total("ran"),
        "seen": compared.total("seen"),
    }  # fmt: skip
    details = {"kinds": {kind: dict(counts) for kind, counts in compared.counts.items()}, "seed": args.seed}
    details["effects"] = dict(compared.effects.most_common())
    finish("server_lock", headline, details, args.quick or bool(args.texts) or args.seed != SEED)
    sys.exit(1 if compared.told else 0)


COLUMNS = ("made", "refused", "unreadable", "let through", "ran", "differences", "refused run", "seen")


class LockComparison:
    """The lock beside DuckDB, text by text.

    Attributes:
        counts: by kind of text, of each of `COLUMNS`.
        effects: what refused texts did, and how often.
        told: the differences.
    """

    def __init__(self, folder: Path, seed: int, count: int, num_refused: int) -> None:
        self._seed, self._count = seed, count
        self._every = max(1, count * 6 // 10 // num_refused)  # about six in ten are refused
        self._locked, self.child = Locked(), LockedChild(folder)
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.effects: Counter[str] = Counter()
        self.told: list[str] = []

    def compare(self) -> None:
        """Go through all texts."""
        began, num_refused = time.monotonic(), 0
        for number in range(self._count):
            kind, text = made(self._seed, number)
            said = self._locked.says(text)
            counts = self.counts[kind]
            counts["made"] += 1
            if said.refusal:
                counts["refused"] += 1
                num_refused += 1
                if num_refused % self._every == 0 and not any(each in text.lower() for each in _NETWORK):
                    self._look(counts, text)
            counts["unreadable" if said.is_unreadable else "let through"] += not said.refusal
            if said.runs:
                self._run(counts, text, said.runs)
            if number % 10_000 == 9_999:
                print(f"{number + 1:,} texts, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    def rows(self) -> list[list[object]]:
        """Of the table."""
        return [[kind, *(counts[each] for each in COLUMNS)] for kind, counts in sorted(self.counts.items())]

    def total(self, column: str) -> int:
        """Over all kinds."""
        return sum(counts[column] for counts in self.counts.values())

    def _run(self, counts: Counter[str], text: str, runs: list[str]) -> None:
        num_run, found = self.child.run(runs)
        counts["ran"] += num_run == len(runs)
        if found:
            counts["differences"] += 1
            self.told.append(f"{text!r} did: {', '.join(found)}; it ran as {runs}")

    def _look(self, counts: Counter[str], text: str) -> None:
        """Run a refused text as it is."""
        counts["refused run"] += 1
        _, found = self.child.run(split(text))
        counts["seen"] += bool(found)
        self.effects.update(found)


if __name__ == "__main__":
    main()
