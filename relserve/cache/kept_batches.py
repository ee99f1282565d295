"""What was sent as batches and what came back, in a SQLite file beside the answers.

A row is there from before its batch is sent until its reply is forgotten, so that no process sends it a
second time. It holds hashes of prompts and no prompts. Replies are kept as servers wrote them.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from relserve.cache.small_file import SmallFile, put

FILE_NAME = "batches.sqlite3"
SENDING = "sending"  # the state of a batch of which it is not known whether the server has it
ENDED = ("completed", "failed", "expired", "cancelled")
KEPT_DAYS = 30  # for which the replies of a batch that ended are kept
WAIT_S = 10.0  # for other processes' locks
MOST_AT_ONCE = 500  # keys in one look-up

_TABLES = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY, model TEXT NOT NULL, server TEXT NOT NULL, owner TEXT NOT NULL, kind TEXT NOT NULL,
    dialect TEXT NOT NULL, state TEXT NOT NULL, rows INTEGER NOT NULL, sent REAL NOT NULL, file_id TEXT,
    server_id TEXT, answered INTEGER NOT NULL, failed INTEGER NOT NULL, expires REAL, ended REAL,
    message TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS rows (
    key BLOB PRIMARY KEY, batch TEXT NOT NULL, number INTEGER NOT NULL, state INTEGER NOT NULL,
    tries INTEGER NOT NULL, told INTEGER NOT NULL, reply BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS rows_of_batch ON rows (batch);
"""


class BatchRowState(IntEnum):
    """How a row stands."""

    SENT = 0  # its batch has not ended
    ANSWERED = 1  # `reply` is the body of its completion
    FAILED = 2  # `reply` says why
    UNASKED = 3  # the server did not answer it: it is to be sent again


class RowCount(IntEnum):
    """What of a row is on somebody's record already, so that nothing counts it a second time."""

    NONE = 0
    TOKENS = 1  # all
    ROW = 2  # for caps it is counted, by what it was expected to take; its tokens are not told yet


@dataclass(frozen=True)
class KeptBatch:
    """One batch.

    Attributes:
        id: by which users know it; the server has it among the batch's metadata.
        model: by the name that users know.
        server: a hash of its URL and of the model's name there.
        owner: who sent it.
        kind: of the call; see `CallSite.kind`.
        dialect: how its requests were written, in JSON.
        state: `SENDING`, then as the server says, at last one of `ENDED`.
        rows: that were sent.
        sent, expires, ended: Unix time; None: not known, not yet.
        file_id, server_id: the server's ids of what was uploaded and of the batch; None: not known.
        answered, failed: of the rows, as the server counts them so far.
        message: what the server said, or what is wrong; "": nothing.
    """

    id: str
    model: str
    server: str
    owner: str
    kind: str
    dialect: str
    rows: int
    state: str = SENDING
    sent: float = 0.0
    file_id: str | None = None
    server_id: str | None = None
    answered: int = 0
    failed: int = 0
    expires: float | None = None
    ended: float | None = None
    message: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether all that will come of it has been kept."""
        return self.ended is not None


class KeptRow(NamedTuple):
    """One row of a batch.

    Attributes:
        number: within the batch.
        tries: how often a server failed on it.
    """

    key: bytes
    batch: str
    number: int
    state: BatchRowState
    tries: int = 0
    counted: RowCount = RowCount.NONE
    reply: str = ""


class LandedRow(NamedTuple):
    """What came of one row of a batch; as of `KeptRow`."""

    key: bytes
    state: BatchRowState
    tries: int = 0
    reply: str = ""


class BatchBook:
    """The file; each call opens it, for any thread and any process.

    Args:
        folder: of the answers; made when there is something to keep.

    Raises (as its methods do): sqlite3.Error, OSError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = SmallFile(folder / FILE_NAME, _TABLES, WAIT_S)

    @contextmanager
    def turn(self, server: str) -> Iterator[bool]:
        """Try to be the only process, and the only thread, that sends to a server; whether it is.

        A process that ends, in whatever way, gives its turn up.
        """
        import fcntl  # not on Windows

        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / f"batches-{server[:16]}.lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True

    def begin(self, batch: KeptBatch, rows: Iterable[KeptRow]) -> KeptBatch:
        """Put a batch that is about to be sent on record, with its rows; gives it with the time."""
        batch = replace(batch, sent=time.time())
        with self._opened() as db:
            put(db, "batches", batch)
            db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", map(_columns, rows))
        return batch

    def put(self, batch: KeptBatch) -> None:
        """Keep what is new of a batch."""
        with self._opened() as db:
            put(db, "batches", batch)

    def give_up(self, batch: KeptBatch, message: str, counts_again: bool = False) -> KeptBatch:
        """A batch did not reach its server, or is forgotten: its rows without a reply may be sent again.

        Args:
            counts_again: for caps they are new rows then, for the server may answer them twice.
        """
        batch = replace(batch, state="failed", ended=time.time(), message=message)
        new = "" if counts_again else f" AND told = {RowCount.NONE:d}"
        waiting = (batch.id, BatchRowState.SENT)
        with self._opened() as db:
            db.execute(f"DELETE FROM rows WHERE batch = ? AND state = ?{new}", waiting)
            sql = "UPDATE rows SET state = ? WHERE batch = ? AND state = ?"
            db.execute(sql, (BatchRowState.UNASKED, *waiting))
            put(db, "batches", batch)
        return batch

    def land(self, batch: KeptBatch, rows: Iterable[LandedRow]) -> KeptBatch:
        """Keep all that came of a batch, row by row and all of it at once."""
        states = Counter[BatchRowState]()
        with self._opened() as db:
            for key, state, tries, reply in rows:
                states[state] += 1
                # Found by the key: by the number all rows of the batch would be read for each.
                sql = "UPDATE rows SET state = ?, tries = ?, reply = ? WHERE key = ? AND batch = ?"
                db.execute(sql, (state, tries, _packed(reply), key, batch.id))
            answered, failed = states[BatchRowState.ANSWERED], states[BatchRowState.FAILED]
            batch = replace(batch, ended=time.time(), answered=answered, failed=failed)
            put(db, "batches", batch)
        return batch

    def find(self, keys: Sequence[bytes]) -> dict[bytes, KeptRow]:
        """The rows of these keys."""
        found: dict[bytes, KeptRow] = {}
        if not self._file.path.exists():
            return found
        with self._opened() as db:
            for i in range(0, len(keys), MOST_AT_ONCE):
                part = keys[i : i + MOST_AT_ONCE]
                marks = ",".join("?" * len(part))
                for row in db.execute(f"SELECT * FROM rows WHERE key IN ({marks})", part):
                    found[row[0]] = _row(row)
        return found

    def rows_of(self, batch_id: str) -> list[KeptRow]:
        """The rows of a batch, in order."""
        with self._opened() as db:
            rows = db.execute("SELECT * FROM rows WHERE batch = ? ORDER BY number", (batch_id,))
            return [_row(row) for row in rows]

    def count(self, counted: Mapping[bytes, RowCount]) -> None:
        """So much of these rows is on record now."""
        with self._opened() as db:
            values = [(count, key) for key, count in counted.items()]
            db.executemany("UPDATE rows SET told = ? WHERE key = ?", values)

    def forget(self, keys: Iterable[bytes]) -> None:
        """These rows may be sent again."""
        with self._opened() as db:
            db.executemany("DELETE FROM rows WHERE key = ?", [(key,) for key in keys])

    def reopen(self, keys: Iterable[bytes]) -> None:
        """These rows are to be sent again, and are no new ones for caps: their server answered none."""
        with self._opened() as db:
            sql = "UPDATE rows SET state = ?, tries = 0, reply = x'' WHERE key = ?"
            db.executemany(sql, [(BatchRowState.UNASKED, key) for key in keys])

    def clear(self) -> int:
        """Forget the replies of all batches that ended; gives the number of batches."""
        if not self._file.path.exists():
            return 0
        with self._opened() as db:
            db.execute("PRAGMA secure_delete = ON")
            return self._forget_ended(db, time.time())

    def batches(self) -> list[KeptBatch]:
        """All batches, the oldest first; nothing where there is no file."""
        if not self._file.path.exists():
            return []
        names = ", ".join(each.name for each in fields(KeptBatch))
        with self._opened() as db:
            found = db.execute(f"SELECT {names} FROM batches ORDER BY sent, id").fetchall()
        return [KeptBatch(*row) for row in found]

    def _forget_ended(self, db: sqlite3.Connection, before: float) -> int:
        old = "SELECT id FROM batches WHERE ended < ?"
        db.execute(f"DELETE FROM rows WHERE batch IN ({old})", (before,))
        return db.execute("DELETE FROM batches WHERE ended < ?", (before,)).rowcount

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._file.writing() as db:
            self._forget_ended(db, time.time() - KEPT_DAYS * 86_400)
            yield db


def new_batch_id() -> str:
    """An id for a batch, unique among all clients of a server."""
    return f"rb-{secrets.token_hex(6)}"


def _row(columns: Any) -> KeptRow:
    key, batch, number, state, tries, counted, reply = columns
    return KeptRow(key, batch, number, BatchRowState(state), tries, RowCount(counted), _unpacked(reply))


def _columns(row: KeptRow) -> tuple[Any, ...]:
    return *row[:6], _packed(row.reply)


def _packed(reply: str) -> bytes:
    return zlib.compress(reply.encode("utf-8", "surrogatepass"), 1) if reply else b""


def _unpacked(reply: bytes) -> str:
    return zlib.decompress(reply).decode("utf-8", "surrogatepass") if reply else ""
