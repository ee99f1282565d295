"""The file of the answer cache: one SQLite database, its tables, and what is done with them.

Rows lie in the order of their last use: a new answer goes to the end, and one that is used again after a
while is moved there. So the least recently used are the first ones, and removing them frees whole pages.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FILE_NAME = "answers.sqlite3"
APPLICATION_ID = 0x72656C53  # "relS" in the file's header: the database is ours
FORMAT = 1
KEEP_SHARE = 0.9  # of the size limit that is left by an eviction
EVICT_AT_ONCE = 20_000  # answers removed in one transaction; other processes may write in between
MOST_AT_ONCE = 10_000  # keys in one look-up
TOUCH_AFTER_S = 3600  # an answer used again within this time keeps its place in the order of last use
# Where a file may be open on several machines, WAL is not to be used: its index is one machine's memory.
NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs ceph lustre gpfs beegfs glusterfs afs fuse.sshfs fuse.glusterfs".split()
)

_TABLES = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS answers (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model INTEGER NOT NULL, used INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, checksum INTEGER NOT NULL,
    reply BLOB NOT NULL
);
"""
_KEEP = "INSERT OR REPLACE INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
# The keys give the rows' places, which are then read in the order of the file.
_FIND = (
    "SELECT key, used, checksum, reply FROM answers WHERE id IN (SELECT id FROM answers WHERE key IN ({}))"
)
_TOUCH = "UPDATE answers SET id = (SELECT max(id) + 1 FROM answers), used = ? WHERE key = ?"
_NAME = (
    "INSERT INTO models (fingerprint, name) VALUES (?, ?) "
    "ON CONFLICT (fingerprint) DO UPDATE SET name = excluded.name"
)
_BY_MODEL = """
SELECT name, count(*), sum(length(reply)), (SELECT sum(hits) FROM models WHERE name = m.name),
       min(used), max(used)
FROM answers JOIN models m ON m.id = model GROUP BY name ORDER BY count(*) DESC, name
"""
# Two queries: only then is each one look at an end of the table.
_ENDS = "SELECT (SELECT min(id) FROM answers), (SELECT max(id) FROM answers)"
_WHICH = "(:name IS NULL OR model IN (SELECT id FROM models WHERE name = :name)) AND used < :before"


class NotOurs(Exception):
    """The file is a database, but none of this version of relserve's."""


class CacheEntry(NamedTuple):
    """A reply to keep.

    Attributes:
        key: hash of all that shaped the reply.
        fingerprint, model: of the model, as hash and by the name that users know.
    """

    key: bytes
    fingerprint: str
    model: str
    text: str
    prompt_tokens: int
    output_tokens: int


class KeptTexts(NamedTuple):
    """Kept replies by key, and the keys of those that should move to the end of the order of last use."""

    texts: dict[bytes, str]
    stale: list[bytes]


class ModelStats(NamedTuple):
    """What is kept of one model: answers, bytes of their texts, hits, and when (Unix time).

    Attributes:
        first_used, last_used: the earliest and the latest of the answers' last uses, known to TOUCH_AFTER_S.
    """

    model: str
    answers: int
    bytes: int
    hits: int
    first_used: int
    last_used: int


class Store:
    """The open database; for one thread at a time.

    Args:
        path: of the file, made readable to its owner alone if it is not there.
        timeout_s: how long to wait for other processes' locks.

    Raises (as its methods do): sqlite3.Error, OSError.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self.path, self._timeout_s = path, timeout_s
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_private(path)
        self.inode = _inode(path)
        self._db = sqlite3.connect(path, timeout_s, isolation_level=None, check_same_thread=False)
        self._ready = False

    def close(self) -> None:
        """Close, whatever state it is in; of several, the last one to close tidies the files up."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    def prepare(self) -> None:
        """Make the tables where there are none; to be called before anything else, again does no harm.

        Raises:
            NotOurs: it is a database of something else.
        """
        give_up_s = time.monotonic() + self._timeout_s
        while not self._ready:
            try:
                self._set_up()
                self._ready = True
            except sqlite3.OperationalError as error:
                # Where two processes make the file at once, SQLite does not always wait by itself.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_s:
                    raise
                time.sleep(0.01)

    @property
    def is_current(self) -> bool:
        """Whether the file is still at its path, not removed or replaced by another."""
        return _inode(self.path) == self.inode

    @property
    def file_bytes(self) -> int:
        """Size of the file."""
        return self._pragma("page_count") * self._pragma("page_size")

    @property
    def used_bytes(self) -> int:
        """Size of what is in it."""
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._pragma("page_size")

    def read(self, keys: Sequence[bytes]) -> KeptTexts:
        """The kept replies of the keys; a damaged one counts as missing."""
        found = KeptTexts({}, [])
        stale_s = time.time() - TOUCH_AFTER_S
        most = min(MOST_AT_ONCE, self._db.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER))
        for i in range(0, len(keys), most):
            part = keys[i : i + most]
            rows = self._db.execute(_FIND.format(",".join("?" * len(part))), part)
            for key, used, checksum, reply in rows:
                if zlib.crc32(reply, zlib.crc32(key)) == checksum:
                    found.texts[key] = reply.decode("utf-8", "surrogatepass")
                    if used < stale_s:
                        found.stale.append(key)
        return found

    def write(self, entries: Iterable[CacheEntry], touched: Iterable[bytes], hits: Mapping[str, int]) -> None:
        """Keep replies, move others to the end of the order of last use, and count hits (by fingerprint)."""
        now = int(time.time())
        with self._transaction():
            ids: dict[tuple[str, str], int] = {}
            rows = []
            for entry in entries:
                model = entry[1:3]
                if model not in ids:
                    ids[model] = self._id_of(*model)
                reply = entry.text.encode("utf-8", "surrogatepass")
                checksum = zlib.crc32(reply, zlib.crc32(entry.key))
                tokens = (entry.prompt_tokens, entry.output_tokens)
                rows.append((entry.key, ids[model], now, *tokens, checksum, reply))
            self._db.executemany(_KEEP, rows)
            self._db.executemany(_TOUCH, [(now, key) for key in touched])
            counted = [(count, fingerprint) for fingerprint, count in hits.items()]
            self._db.executemany("UPDATE models SET hits = hits + ? WHERE fingerprint = ?", counted)

    def shrink(self, limit: int) -> int:
        """Where more than `limit` bytes are used, remove the least recently used; gives their number."""
        if self.used_bytes <= limit:
            return 0
        removed = 0
        while self.used_bytes > limit * KEEP_SHARE:
            first, last = self._db.execute(_ENDS).fetchone()
            if first is None:
                break
            with self._transaction():
                end = first + min((last - first) // 10, EVICT_AT_ONCE)
                removed += self._db.execute("DELETE FROM answers WHERE id <= ?", (end,)).rowcount
        self._give_back(self.file_bytes - limit)  # more than a page or two only where the limit was lowered
        return removed

    def by_model(self) -> list[ModelStats]:
        """What is kept, by the models' names; reads the whole file."""
        return [ModelStats(*row) for row in self._db.execute(_BY_MODEL)]

    def count(self, model: str | None, before: float) -> tuple[int, int]:
        """Answers, and bytes of their texts, of a model (None: all) last used before a Unix time."""
        query = f"SELECT count(*), coalesce(sum(length(reply)), 0) FROM answers WHERE {_WHICH}"
        num, size = self._db.execute(query, {"name": model, "before": before}).fetchone()
        return num, size

    def clear(self, model: str | None, before: float) -> int:
        """Remove what `count` counts, overwrite it, and give the space back; gives the number of answers."""
        self._db.execute("PRAGMA secure_delete = ON")
        with self._transaction():
            cursor = self._db.execute(
                f"DELETE FROM answers WHERE {_WHICH}", {"name": model, "before": before}
            )
            self._db.execute("DELETE FROM models WHERE id NOT IN (SELECT model FROM answers)")
        self._give_back(self.file_bytes)
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return cursor.rowcount

    def _set_up(self) -> None:
        mode = "WAL" if _file_system(self.path) not in NETWORK_FILE_SYSTEMS else "TRUNCATE"
        if not self._is_ours():
            in_use = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,)
            if in_use and not self._is_ours():  # asked again: another process may have made it just now
                raise NotOurs
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # has to come before the first table
            self._db.execute(f"PRAGMA journal_mode = {mode}")
            with self._transaction():
                for statement in _TABLES.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {FORMAT}")
        self._db.execute(f"PRAGMA journal_mode = {mode}")
        # A commit survives the death of every process; only a power cut can take the latest ones.
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA journal_size_limit = 4194304")

    def _is_ours(self) -> bool:
        return (self._pragma("application_id"), self._pragma("user_version")) == (APPLICATION_ID, FORMAT)

    def _id_of(self, fingerprint: str, name: str) -> int:
        self._db.execute(_NAME, (fingerprint, name))
        found = self._db.execute("SELECT id FROM models WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return int(found[0])

    def _give_back(self, num_bytes: int) -> None:
        """Return free pages at the file's end to the disk."""
        if num_bytes > 0:
            pages = num_bytes // self._pragma("page_size")
            self._db.executescript(f"PRAGMA incremental_vacuum({pages})")  # execute would do one page

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # some errors have rolled back already
                self._db.execute("ROLLBACK")
            raise


def _make_private(path: Path) -> None:
    """Make an empty file for its owner's eyes alone; its WAL and index get the same mode.

    One that is there is not even opened: closing it would drop the locks of this process's other connections.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _file_system(path: Path) -> str:
    """The kind of file system on which a path lies; "" where the kernel does not say."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    folder = path.parent.resolve()
    longest, kind = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split(" ")[4].replace("\\040", " ")
        if len(mount) >= len(longest) and folder.is_relative_to(mount):
            longest, kind = mount, after.split(" ")[0]
    return kind
