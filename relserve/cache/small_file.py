"""Small SQLite files beside the answers: made for their owner alone, and opened for each use."""

from __future__ import annotations

import asyncio
import atexit
import copy
import logging
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

logger = logging.getLogger(__name__)

WRITE_EVERY_S = 1.0  # a server may end a hundred relQueries in a second
Pending = TypeVar("Pending", bound=Collection[Any])


class SmallFile:
    """A file of a few tables, for any thread and any process.

    Args:
        path: of the file; made, with its folder, when there is something to keep.
        tables: SQL that makes the tables where they are not there, or are of another format.
        wait_s: for other processes' locks.
        synchronous: SQLite's; OFF where a power cut may cost the file.
        format: of these tables, raised with each change of them.

    Raises (as its methods do): sqlite3.Error, OSError.
    """

    def __init__(
        self, path: Path, tables: str, wait_s: float, synchronous: str = "FULL", format: int = 1
    ) -> None:
        self.path, self._tables, self._wait_s = path, tables, wait_s
        self._synchronous, self._format = synchronous, format

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, which an exception rolls back."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # for its owner alone from the start
        with closing(sqlite3.connect(self.path, self._wait_s, isolation_level=None)) as db:
            if self._synchronous != "FULL":  # as SQLite begins; the statement waits for locks
                db.execute(f"PRAGMA synchronous = {self._synchronous}")
            db.execute("BEGIN IMMEDIATE")
            with db:
                if db.execute("PRAGMA user_version").fetchone() != (self._format,):
                    for statement in self._tables.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {self._format}")
                yield db

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; none where there is no file, or one of another format."""
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(self.path, self._wait_s)) as db:
            if db.execute("PRAGMA user_version").fetchone() != (self._format,):
                return []
            return db.execute(query, values).fetchall()


def put(db: sqlite3.Connection, table: str, row: object) -> None:
    """Put an object's attributes into the columns of their names, in place of the row with its key."""
    values = vars(row)
    names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
    db.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", values)


class WrittenBehind(ABC, Generic[Pending]):
    """Keeps soon, and at the latest when the process ends; safe for several threads.

    Nothing raises: what cannot be written or read is logged, and this process's own stays here. What is
    added in an event loop, a thread writes.

    Args:
        file: None: nothing is kept for other processes.
        nothing: what is pending before anything was added.
    """

    what: ClassVar[str]  # is kept, for the log
    _shared: ClassVar[dict[tuple[type, Path], Any]] = {}
    _sharing: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, file: SmallFile | None, nothing: Callable[[], Pending]) -> None:
        self._file, self._owner, self._nothing = file, os.getpid(), nothing
        self._mutex = threading.Lock()  # guards what is pending; nobody waits long for it
        self._writing = threading.Lock()  # guards the file; held while other processes lock it
        self._pending = nothing()
        self._written_s = float("-inf")  # of time.monotonic()
        if file is not None:
            atexit.register(self.flush)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The process's own of a folder, that of the kept answers; a forked child has another."""
        with cls._sharing:
            found: Self | None = cls._shared.get((cls, folder))
            if found is None or not found._is_mine:
                found = cls._shared[cls, folder] = cls(folder)  # type: ignore[call-arg, arg-type]
            return found

    def flush(self) -> None:
        """Write what is pending; in a forked child the parent does."""
        if self._is_mine:  # else the lock may have been copied locked
            with self._writing:
                self._flush()

    @abstractmethod
    def _write(self, db: sqlite3.Connection, pending: Pending) -> None:
        """Put what was pending into the file."""

    @abstractmethod
    def _with(self, pending: Pending, later: Pending) -> Pending:
        """What is pending, and what came later."""

    @property
    def _is_mine(self) -> bool:
        return self._owner == os.getpid()

    def _add(self, more: Pending) -> None:
        with self._mutex:
            self._pending = self._with(self._pending, more)
            now_s = time.monotonic()
            if self._file is None or not self._is_mine or now_s - self._written_s < WRITE_EVERY_S:
                return
            self._written_s = now_s
        if not _in_event_loop():
            self.flush()
            return
        with suppress(RuntimeError):  # the interpreter ends, which flushes
            threading.Thread(target=self.flush, name="relserve-kept", daemon=True).start()

    def _read(self, query: str, values: Sequence[Any] = ()) -> tuple[list[tuple[Any, ...]], Pending]:
        """The rows of a query of the file, and what is not in it."""
        with self._writing if self._is_mine else nullcontext():  # see `flush`
            if self._is_mine:
                self._flush()
            with self._mutex:
                unwritten = copy.copy(self._pending)
            if self._file is None:
                return [], unwritten
            try:
                return self._file.read(query, values), unwritten
            except sqlite3.Error as error:
                logger.warning("%s cannot be read from %s (%s)", self.what, self._file.path, error)
                return [], unwritten

    def _flush(self) -> None:
        if self._file is None:
            return
        with self._mutex:
            if not self._pending:
                return
            pending, self._pending = self._pending, self._nothing()
            self._written_s = time.monotonic()
        try:
            with self._file.writing() as db:
                self._write(db, pending)
        except (sqlite3.Error, OSError) as error:
            logger.warning("%s is not kept in %s (%s)", self.what, self._file.path, error)
            with self._mutex:
                self._pending = self._with(pending, self._pending)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
