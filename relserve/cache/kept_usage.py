"""What was asked and what it cost, by day, user, model and function, in a SQLite file beside the answers.

From it llm_usage() shows bills, EXPLAIN tells how long prompts and answers of a call are, and a server knows
after a restart what a user has spent today. It holds names, hashes of calls and numbers, and no texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from relserve.cache.small_file import SmallFile, WrittenBehind

FILE_NAME = "usage.sqlite3"
CAPS = ""  # in the place of a function: what caps of a day have counted, batches when they were sent
WAIT_S = 1.0  # for other processes' locks
KEPT_DAYS = 400

_TABLE = """
DROP TABLE IF EXISTS usage;
CREATE TABLE usage (
    day TEXT NOT NULL, user TEXT NOT NULL, model TEXT NOT NULL, function TEXT NOT NULL, kind TEXT NOT NULL,
    requests INTEGER NOT NULL, bytes INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost REAL NOT NULL,
    unpriced INTEGER NOT NULL, PRIMARY KEY (day, user, model, function, kind)
) WITHOUT ROWID
"""
_COUNTS = ("requests", "bytes", "prompt_tokens", "cached_tokens", "output_tokens", "cost", "unpriced")
_ADD = f"""
INSERT INTO usage VALUES ({", ".join("?" * (5 + len(_COUNTS)))}) ON CONFLICT DO UPDATE SET
{", ".join(f"{name} = {name} + excluded.{name}" for name in _COUNTS)}
"""
_SUMS = ", ".join(f"sum({name})" for name in _COUNTS)
_OF_KIND = f"SELECT {_SUMS} FROM usage WHERE model = ? AND kind = ?"
_BY_DAY = f"SELECT day, user, model, function, {_SUMS} FROM usage GROUP BY day, user, model, function"


class UsageKey(NamedTuple):
    """Whose usage it is; `kind` as of `CallSite.kind`."""

    day: str
    user: str
    model: str
    function: str
    kind: str


class UsageCounts(NamedTuple):
    """Prompts that were answered, or refused, by a model, with their tokens and dollars.

    Attributes:
        bytes: of the prompts' texts.
        unpriced: of the requests, those of which nobody knew a price.
    """

    requests: int = 0
    bytes: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def plus(self, other: UsageCounts) -> UsageCounts:
        """The sum."""
        return UsageCounts._make(one + more for one, more in zip(self, other, strict=True))


def today() -> str:
    """The day in UTC, as ISO 8601 writes it."""
    return datetime.now(timezone.utc).date().isoformat()


class UsageBook(WrittenBehind[dict[UsageKey, UsageCounts]]):
    """Adds and sums up.

    Args:
        folder: of the file; None: nothing is kept for other processes.
    """

    what = "usage"

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(None if folder is None else SmallFile(folder / FILE_NAME, _TABLE, WAIT_S), dict)

    def add(self, key: UsageKey, counts: UsageCounts) -> None:
        """Count what was used now; it is in the file a second later at the latest, if more follows."""
        self._add({key: counts})

    def of_kind(self, model: str, kind: str) -> UsageCounts:
        """All that calls of a kind have asked a model, on all days."""
        rows, unwritten = self._read(_OF_KIND, (model, kind))
        found = [UsageCounts._make(row) for row in rows if row[0] is not None]
        here = [counts for key, counts in unwritten.items() if (key.model, key.kind) == (model, kind)]
        return _sum([*found, *here])

    def of_day(self, user: str, day: str) -> UsageCounts:
        """What a user has asked on a day."""
        return _sum(counts for key, counts in self.by_day() if (key.user, key.day) == (user, day))

    def spend(self, user: str, day: str, rows: float, tokens: float, cost: float) -> None:
        """The caps of a user's day have counted so much more."""
        self.add(_of_caps(user, day), UsageCounts(int(rows), prompt_tokens=int(tokens), cost=cost))

    def spent(self, user: str, day: str) -> UsageCounts | None:
        """What the caps of a user's day have counted, as tokens of prompts; None: there were none."""
        return self._all_by_day().get(_of_caps(user, day))

    def by_day(self) -> list[tuple[UsageKey, UsageCounts]]:
        """By day, user, model and function, in this order; the kind is ""."""
        return sorted(each for each in self._all_by_day().items() if each[0].function != CAPS)

    def _all_by_day(self) -> dict[UsageKey, UsageCounts]:
        found: dict[UsageKey, UsageCounts] = {}
        rows, unwritten = self._read(_BY_DAY)
        for day, user, model, function, *counts in rows:
            found[UsageKey(day, user, model, function, "")] = UsageCounts._make(counts)
        for key, more in unwritten.items():
            short = key._replace(kind="")
            found[short] = found.get(short, UsageCounts()).plus(more)
        return found

    def _with(
        self, pending: dict[UsageKey, UsageCounts], later: dict[UsageKey, UsageCounts]
    ) -> dict[UsageKey, UsageCounts]:
        for key, counts in later.items():
            pending[key] = pending.get(key, UsageCounts()).plus(counts)
        return pending

    def _write(self, db: sqlite3.Connection, pending: dict[UsageKey, UsageCounts]) -> None:
        db.execute("DELETE FROM usage WHERE day < date('now', ?)", (f"-{KEPT_DAYS} days",))
        db.executemany(_ADD, [(*key, *counts) for key, counts in pending.items()])


def _of_caps(user: str, day: str) -> UsageKey:
    return UsageKey(day, user, "", CAPS, "")


def _sum(counts: Iterable[UsageCounts]) -> UsageCounts:
    total = UsageCounts()
    for each in counts:
        total = total.plus(each)
    return total
