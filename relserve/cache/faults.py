"""What can be wrong with the answer cache's file: told apart, put into words, and put out of the way."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from pathlib import Path

from relserve.cache.store import NotOurs, Store

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NOT_WRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_damage(error: Exception) -> bool:
    """Whether what SQLite raised means that the file's content is broken."""
    return _code(error) in _DAMAGED


def is_locked(error: Exception) -> bool:
    """Whether another process holds the file, so that it may be had a little later."""
    return _code(error) in _LOCKED


def what_to_do(error: Exception, path: Path) -> str:
    """What is wrong with the file, and how to mend it."""
    if isinstance(error, NotOurs):
        problem = "is a database, but not of this version of relserve"
        mend = "move it away, or set RELSERVE_CACHE_DIR to another folder"
    elif is_damage(error):
        problem, mend = f"is damaged ({error})", "delete it; nothing but kept answers is lost"
    elif is_locked(error):
        problem, mend = (
            f"is locked by another process ({error})",
            f"end that process (`fuser {path}` names it)",
        )
    elif _code(error) in _NOT_WRITTEN or getattr(error, "errno", 0) in _NO_SPACE:
        problem = f"cannot be written ({error}; is the disk full?)"
        mend = "make room, or run `relserve cache clear`, or set RELSERVE_ANSWER_CACHE_MB lower (0: no cache)"
    else:
        problem = f"cannot be used ({error})"
        mend = "make it writable, set RELSERVE_CACHE_DIR to one that is, or RELSERVE_ANSWER_CACHE_MB to 0"
    return f"the answer cache {path} {problem}. To mend it: {mend}"


def move_aside(store: Store) -> Path:
    """Put a damaged file, with what belongs to it, out of the way; gives its new name.

    Processes that have it open go on with the moved file and notice by `Store.is_current`.
    """
    damaged = store.path.with_name(store.path.name + ".damaged")
    for ending in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{store.path}{ending}", f"{damaged}{ending}")
    os.replace(store.path, damaged)
    return damaged


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 of other errors."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
