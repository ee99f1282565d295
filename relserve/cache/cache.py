"""The answer cache of a process: finds kept replies, writes new ones behind the query's back, never fails it.

What goes wrong with its file (a full disk, a lock, damage) is said once; queries go on without it.
"""

from __future__ import annotations

import atexit
import logging
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from relserve.cache.faults import is_damage, is_locked, move_aside, what_to_do
from relserve.cache.store import CacheEntry, KeptTexts, NotOurs, Store

logger = logging.getLogger(__name__)

COMMIT_EVERY_S = 0.2  # what a kill -9 can lose
REST_S = 60.0  # after a failure the cache is left alone for so long
READ_WAIT_S = 5.0  # how long a query waits for another process's lock before it pays for kept answers again
READ_POLL_S = 0.05  # between two looks meanwhile whether the query was interrupted
WRITE_WAIT_S = 10.0  # the same for the writing thread, which keeps nobody waiting
FLUSH_S = 2.0  # longest wait for the writing thread when the interpreter ends

_lock = threading.Lock()
_caches: dict[Path, AnswerCache] = {}


def shared_cache(path: Path, max_bytes: int, warn: Callable[[str], None]) -> AnswerCache:
    """The process's cache at a path; the latest caller's limit holds."""
    with _lock:
        cache = _caches.get(path)
        if cache is None or not cache.is_mine:
            cache = _caches[path] = AnswerCache(path, max_bytes, warn)
        cache.max_bytes = max_bytes
        return cache


class AnswerCache:
    """Kept replies by key; safe for several threads, and for several processes on one file.

    Args:
        path: of the file; it is made when there is something to keep.
        max_bytes: size above which the least recently used answers are removed.
        warn: told, at most once, what is wrong with the file and how to mend it.
    """

    def __init__(self, path: Path, max_bytes: int, warn: Callable[[str], None]) -> None:
        self.path, self.max_bytes = path, max_bytes
        self._warn = warn
        self._owner = os.getpid()
        self._changed = threading.Condition()  # guards what is waiting to be written
        self._pending: dict[bytes, CacheEntry] = {}
        self._touched: set[bytes] = set()
        self._hits: Counter[str] = Counter()
        self._thread: threading.Thread | None = None
        self._hurry = self._closed = self._writing = False
        self._reading = threading.Lock()  # guards the reader
        self._reader: Store | None = None
        self._writer: Store | None = None  # of the writing thread alone
        self._mending = threading.Lock()  # guards what follows
        self._resume_at = 0.0
        self._warned = self._moved_one = False
        atexit.register(self.close)

    @property
    def is_mine(self) -> bool:
        """False in a forked child, which must not use its parent's database handles."""
        return os.getpid() == self._owner

    def find(
        self,
        fingerprint: str,
        keys: Sequence[bytes],
        uses: bool = True,
        cancel: threading.Event | None = None,
    ) -> dict[bytes, str]:
        """The kept replies of the keys, of one model; never raises.

        Args:
            uses: they are about to be used: count that as hits, and put off their removal.
            cancel: set once nobody waits for them any more; what is found then is nothing.
        """
        if self._closed or self._rests or not self.is_mine:
            return {}
        with self._changed:  # before the file: what is no longer here is there
            pending = [self._pending[key] for key in keys if key in self._pending]
        kept = self._read(keys, cancel)
        found = {entry.key: entry.text for entry in pending} | kept.texts
        if found and uses:
            with self._changed:
                self._touched.update(kept.stale)
                self._hits[fingerprint] += len(found)
                self._wake()
        return found

    def keep(self, entries: Sequence[CacheEntry]) -> None:
        """Keep replies; they are on file within about COMMIT_EVERY_S. Never raises."""
        if not entries or self._closed or self._rests or not self.is_mine:
            return
        with self._changed:
            self._pending.update((entry.key, entry) for entry in entries)
            self._wake()

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Wait until all is written; whether it was in time."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: not self._has_work() and not self._writing, timeout_s)
            self._hurry = False
        return done

    def close(self) -> None:
        """Write what is left and let go of the file."""
        atexit.unregister(self.close)
        if not self.is_mine:
            return
        thread = self._thread
        if thread is not None and thread.is_alive():
            self.flush()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if thread is not None:
            thread.join(FLUSH_S)
        with self._reading:
            if self._reader is not None:
                self._reader.close()

    @property
    def _rests(self) -> bool:
        return time.monotonic() < self._resume_at

    def _has_work(self) -> bool:
        return bool(self._pending or self._touched or self._hits)

    def _wake(self) -> None:
        """Have the work done by the writing thread, started with the first."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="relserve-answer-cache", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _read(self, keys: Sequence[bytes], cancel: threading.Event | None) -> KeptTexts:
        give_up_s = time.monotonic() + READ_WAIT_S
        while not self._rests and not (cancel is not None and cancel.is_set()):
            with self._reading:  # again on a new file, where the first was damaged, or after another's lock
                try:
                    if self._reader is None or not self._reader.is_current:
                        if not self.path.exists():
                            break
                        self._reader = self._opened(self._reader, READ_POLL_S)
                    self._reader.prepare()
                    return self._reader.read(keys)
                except (sqlite3.Error, OSError, NotOurs) as error:
                    if is_locked(error) and time.monotonic() < give_up_s:
                        continue
                    self._mend(self._reader, error)
                    self._reader = None
        return KeptTexts({}, [])

    def _write_all(self) -> None:
        """The writing thread: what has come since, at most every COMMIT_EVERY_S."""
        next_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._has_work() or self._closed)
                if not self._has_work():
                    break
                while not (self._hurry or self._closed) and (left_s := next_s - time.monotonic()) > 0:
                    self._changed.wait(left_s)
                entries = list(self._pending.values())
                touched, hits = self._touched, self._hits
                self._touched, self._hits = set(), Counter()
                self._writing = True
            self._write(entries, touched, hits)
            with self._changed:
                for entry in entries:
                    if self._pending.get(entry.key) is entry:
                        del self._pending[entry.key]
                self._writing = False
                self._changed.notify_all()
            next_s = time.monotonic() + COMMIT_EVERY_S
        if self._writer is not None:
            self._writer.close()

    def _write(self, entries: list[CacheEntry], touched: set[bytes], hits: Counter[str]) -> None:
        while not self._rests:
            try:
                if self._writer is None or not self._writer.is_current:
                    self._writer = self._opened(self._writer, WRITE_WAIT_S)
                self._writer.prepare()
                self._writer.write(entries, touched, hits)
                if removed := self._writer.shrink(self.max_bytes):
                    logger.info("removed the %d least recently used answers from %s", removed, self.path)
                return
            except (sqlite3.Error, OSError, NotOurs) as error:
                self._mend(self._writer, error)
                self._writer = None

    def _opened(self, before: Store | None, wait_s: float) -> Store:
        if before is not None:
            before.close()
        return Store(self.path, wait_s)

    def _mend(self, store: Store | None, error: Exception) -> None:
        """After a failure: a damaged file makes room for a new one, anything else makes the cache rest."""
        if store is not None:
            store.close()
        with self._mending:
            if store is not None and is_damage(error):
                if not store.is_current:
                    return  # the other thread, or another process, has mended it
                if not self._moved_one:
                    self._moved_one = True
                    return self._begin_anew(store, error)
            self._resume_at = time.monotonic() + REST_S
            self._say(_without(what_to_do(error, self.path)))

    def _begin_anew(self, store: Store, error: Exception) -> None:
        try:
            moved = move_aside(store)
        except OSError as problem:
            self._resume_at = time.monotonic() + REST_S
            self._say(_without(what_to_do(problem, self.path)))
        else:
            self._say(
                f"the answer cache {self.path} was damaged ({error}); a new one begins. "
                f"The damaged file is now {moved}; you may delete it"
            )

    def _say(self, problem: str) -> None:
        if self._warned:
            logger.info("%s", problem)
        else:
            self._warned = True
            self._warn(problem)


def _without(problem: str) -> str:
    return f"{problem}. Queries go on without it; it is tried again in {REST_S:.0f} s"
