"""How long the latest relQueries of each model took, in a SQLite file beside the answers.

From it EXPLAIN tells times in other processes. It holds names of models and functions, numbers, and no texts.
"""

from __future__ import annotations

import atexit
import logging
import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

logger = logging.getLogger(__name__)

FILE_NAME = "pace.sqlite3"
MOST_A_MODEL = 40  # relQueries of one model that are kept, the latest
WRITE_EVERY_S = 1.0  # a server may end a hundred relQueries in a second
WAIT_S = 1.0  # for other processes' locks
FORMAT = 1

_TABLE = """
CREATE TABLE IF NOT EXISTS paces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, function TEXT NOT NULL,
    prompts INTEGER NOT NULL, tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, seconds REAL NOT NULL
)
"""
_OLD = """
DELETE FROM paces WHERE model = :model
AND id NOT IN (SELECT id FROM paces WHERE model = :model ORDER BY id DESC LIMIT :most)
"""
_READ = "SELECT function, prompts, tokens, output_tokens, seconds FROM paces WHERE model = ? ORDER BY id DESC"

_lock = threading.Lock()
_files: dict[Path, PaceFile] = {}


class KeptPace(NamedTuple):
    """What one relQuery took.

    Attributes:
        prompts: that were asked.
        tokens: that the engine computed: of prompts, without those that a cache served, and of answers.
        output_tokens: of the answers alone.
        seconds: without the start of an engine where its clock tells.
    """

    function: str
    prompts: int
    tokens: int
    output_tokens: int
    seconds: float


def shared_paces(folder: Path) -> PaceFile:
    """The process's file in a folder, that of the kept answers."""
    with _lock:
        file = _files.get(folder)
        if file is None or not file.is_mine:
            file = _files[folder] = PaceFile(folder)
        return file


class PaceFile:
    """Keeps and finds; safe for several threads, and for several processes on one file.

    Nothing raises: without the file EXPLAIN tells times by what this process asked, and is no worse.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._owner = os.getpid()
        self._mutex = threading.Lock()
        self._pending: list[tuple[str, KeptPace]] = []
        self._written_s = float("-inf")  # of time.monotonic()
        atexit.register(self.flush)

    @property
    def is_mine(self) -> bool:
        """False in a forked child, whose parent writes what was pending."""
        return os.getpid() == self._owner

    def add(self, model: str, pace: KeptPace) -> None:
        """Keep what a relQuery took: at once, or soon and at the latest when the process ends."""
        with self._mutex:
            self._pending.append((model, pace))
            waits = time.monotonic() - self._written_s < WRITE_EVERY_S
        if not waits:
            self.flush()

    def find(self, model: str) -> list[KeptPace]:
        """What is kept of a model, the latest first."""
        self.flush()
        if not self._path.exists():
            return []
        try:
            with closing(sqlite3.connect(self._path, WAIT_S)) as db:
                if db.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                    return []
                return [KeptPace(*row) for row in db.execute(_READ, (model,))]
        except sqlite3.Error as error:
            logger.warning("what relQueries took cannot be read from %s (%s)", self._path, error)
            return []

    def flush(self) -> None:
        """Write what is pending."""
        with self._mutex:
            pending, self._pending = self._pending[-MOST_A_MODEL:], []
            if not pending or not self.is_mine:
                return
            self._written_s = time.monotonic()
            try:
                self._write(pending)
            except (sqlite3.Error, OSError) as error:
                logger.warning("what relQueries took is not kept in %s (%s)", self._path, error)

    def _write(self, pending: list[tuple[str, KeptPace]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        with closing(sqlite3.connect(self._path, WAIT_S, isolation_level=None)) as db, db:
            db.execute("PRAGMA synchronous = OFF")  # a power cut may cost the file: it is only an estimate's
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                db.execute("DROP TABLE IF EXISTS paces")
                db.execute(_TABLE)
                db.execute(f"PRAGMA user_version = {FORMAT}")
            insert = "INSERT INTO paces VALUES (NULL, ?, ?, ?, ?, ?, ?)"
            db.executemany(insert, [(model, *pace) for model, pace in pending])
            for model in {model for model, _ in pending}:
                db.execute(_OLD, {"model": model, "most": MOST_A_MODEL})
