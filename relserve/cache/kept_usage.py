"""What was asked and what it cost, by day, user, model and function, in a SQLite file beside the answers.

From it llm_usage() shows bills, EXPLAIN tells how long prompts and answers of a call are, and a server knows
after a restart what a user has spent today. It holds names, hashes of calls and numbers, and no texts.
"""

from __future__ import annotations

import atexit
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

logger = logging.getLogger(__name__)

FILE_NAME = "usage.sqlite3"
CAPS = ""  # in the place of a function: what caps of a day have counted, batches when they were sent
WRITE_EVERY_S = 1.0
WAIT_S = 1.0  # for other processes' locks
KEPT_DAYS = 400
FORMAT = 1

_TABLE = """
CREATE TABLE IF NOT EXISTS usage (
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

_lock = threading.Lock()
_books: dict[Path, UsageBook] = {}


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


def shared_book(folder: Path) -> UsageBook:
    """The process's book in a folder, that of the kept answers."""
    with _lock:
        book = _books.get(folder)
        if book is None or not book.is_mine:
            book = _books[folder] = UsageBook(folder)
        return book


class UsageBook:
    """Adds and sums up; safe for several threads, and for several processes on one file.

    Nothing raises: a file that cannot be used is logged, and this process's counts stay here.

    Args:
        folder: of the file; None: nothing is kept for other processes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / FILE_NAME
        self._owner = os.getpid()
        self._mutex = threading.Lock()  # guards what is pending; nobody waits long for it
        self._writing = threading.Lock()  # guards the file; held while other processes lock it
        self._pending: dict[UsageKey, UsageCounts] = {}
        self._written_s = float("-inf")  # of time.monotonic()
        if folder is not None:
            atexit.register(self.flush)

    @property
    def is_mine(self) -> bool:
        """False in a forked child, whose parent writes what was pending."""
        return os.getpid() == self._owner

    def add(self, key: UsageKey, counts: UsageCounts) -> None:
        """Count what was used now; it is in the file a second later at the latest, if more follows.

        A thread writes, for this may be called in the engines' loop.
        """
        with self._mutex:
            self._pending[key] = self._pending.get(key, UsageCounts()).plus(counts)
            now_s = time.monotonic()
            if self._path is None or not self.is_mine or now_s - self._written_s < WRITE_EVERY_S:
                return
            self._written_s = now_s
        with suppress(RuntimeError):  # the interpreter ends, which flushes
            threading.Thread(target=self.flush, name="relserve-usage", daemon=True).start()

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
        rows, unwritten = self._read(_BY_DAY, ())
        for day, user, model, function, *counts in rows:
            found[UsageKey(day, user, model, function, "")] = UsageCounts._make(counts)
        for key, more in unwritten.items():
            short = key._replace(kind="")
            found[short] = found.get(short, UsageCounts()).plus(more)
        return found

    def flush(self) -> None:
        """Write what is pending."""
        if self.is_mine:  # else the lock may have been copied locked
            with self._writing:
                self._flush()

    def _flush(self) -> None:
        if self._path is None:
            return
        with self._mutex:
            pending, self._pending = self._pending, {}
            self._written_s = time.monotonic()
        if not pending:
            return
        try:
            self._write(self._path, pending)
        except (sqlite3.Error, OSError) as error:
            logger.warning("usage is not kept in %s (%s)", self._path, error)
            with self._mutex:
                for key, counts in pending.items():
                    self._pending[key] = self._pending.get(key, UsageCounts()).plus(counts)

    def _read(
        self, query: str, values: tuple[str, ...]
    ) -> tuple[list[tuple[Any, ...]], dict[UsageKey, UsageCounts]]:
        """The rows of a query of the file, and what is not in it."""
        with self._writing:
            self._flush()
            with self._mutex:
                unwritten = dict(self._pending)
            if self._path is None or not self._path.exists():
                return [], unwritten
            try:
                with closing(sqlite3.connect(self._path, WAIT_S)) as db:
                    if db.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                        return [], unwritten
                    return db.execute(query, values).fetchall(), unwritten
            except sqlite3.Error as error:
                logger.warning("usage cannot be read from %s (%s)", self._path, error)
                return [], unwritten

    def _write(self, path: Path, pending: dict[UsageKey, UsageCounts]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with closing(sqlite3.connect(path, WAIT_S, isolation_level=None)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                db.execute("DROP TABLE IF EXISTS usage")
                db.execute(_TABLE)
                db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute("DELETE FROM usage WHERE day < date('now', ?)", (f"-{KEPT_DAYS} days",))
            db.executemany(_ADD, [(*key, *counts) for key, counts in pending.items()])


def _of_caps(user: str, day: str) -> UsageKey:
    return UsageKey(day, user, "", CAPS, "")


def _sum(counts: Iterable[UsageCounts]) -> UsageCounts:
    total = UsageCounts()
    for each in counts:
        total = total.plus(each)
    return total
