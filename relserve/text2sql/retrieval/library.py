"""Indexes of databases' values, built once a version and kept: some in memory, those of files on disk."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import duckdb

from relserve.errors import Cancelled
from relserve.linking.schema import Schema
from relserve.text2sql.catalog.texts import ColumnTexts, distinct_texts
from relserve.text2sql.catalog.versions import database_version
from relserve.text2sql.retrieval.database_values import DatabaseValues

logger = logging.getLogger(__name__)

MOST_VALUES = 400_000  # in an index
READING_S = 30.0  # for building one: half of it for reading
PIECE = 10_000  # values of a column between two looks at the time
POLL_S = 0.05  # how often a wait for another builder looks at its cancel event
NUM_IN_MEMORY = 4  # indexes that stay open
MAX_BYTES = 1 << 30  # of all indexes on disk
STALE_S = 3600.0  # an unfinished folder that is older was left behind by a process that was killed


class ValueLibrary:
    """Finds or builds the index of a database's values.

    Values of a database in memory, or in an encrypted file, are never written to disk.

    Args:
        folder: for the indexes on disk, of this user alone; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[str, DatabaseValues] = OrderedDict()
        self._building: dict[str, threading.Event] = {}  # set at the end, however it ends
        self._lock, self._cleaning = threading.Lock(), threading.Lock()

    def values(
        self, con: duckdb.DuckDBPyConnection, schema: Schema, cancel: threading.Event | None = None
    ) -> DatabaseValues:
        """The index of the values that a schema's text columns hold now.

        Whoever asks first builds it; those who ask for the same meanwhile wait for it, the others do not.

        Raises:
            Cancelled: `cancel` was set.
        """
        version = database_version(con, schema)
        cancel = cancel or threading.Event()
        while True:
            with self._lock:
                if (values := self._open.pop(version.key, None)) is not None:
                    return self._keep_open(version.key, values)
                if (other := self._building.get(version.key)) is None:
                    mine = self._building[version.key] = threading.Event()
                    break
            while not other.wait(POLL_S):
                _check(cancel)
        try:
            build = _Build(con, schema, cancel)
            values = self._kept(version.key, build) if version.is_in_files else build.into(None)
            with self._lock:
                return self._keep_open(version.key, values)
        finally:
            with self._lock:
                del self._building[version.key]
            mine.set()

    def _keep_open(self, key: str, values: DatabaseValues) -> DatabaseValues:
        self._open[key] = values
        while len(self._open) > NUM_IN_MEMORY:
            self._open.popitem(last=False)  # closed when its last user lets go of it
        return values

    def _kept(self, key: str, build: _Build) -> DatabaseValues:
        """The index from disk; built where there is none that can be used."""
        place = self._folder / key[:32]
        try:
            values = DatabaseValues.open(place)
            os.utime(place)
        except FileNotFoundError:
            return self._build(place, build)
        except (OSError, ValueError, EOFError, sqlite3.Error) as error:  # strangers may write there
            logger.warning("values are read anew, for %s cannot be used (%s)", place, error)
            shutil.rmtree(place, ignore_errors=True)
            return self._build(place, build)
        return values

    def _build(self, place: Path, build: _Build) -> DatabaseValues:
        """Build beside the place and move the finished folder there; in memory where the disk fails."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            unfinished = Path(tempfile.mkdtemp(".tmp", f"{place.name}.", self._folder))
        except OSError as error:
            logger.warning("values are not kept on disk: %s", error)
            return build.into(None)
        try:
            build.into(unfinished).close()
            with contextlib.suppress(OSError):  # another process was first
                unfinished.rename(place)
            with self._cleaning:
                self._remove_old(place)
            return DatabaseValues.open(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _remove_old(self, newest: Path) -> None:
        """Remove what was not used for longest until the rest fits, and what killed processes left."""
        folders = sorted((each for each in self._folder.iterdir() if each.is_dir()), key=_used, reverse=True)
        total = 0
        for each in folders:
            is_unfinished = each.suffix == ".tmp"
            total += 0 if is_unfinished else _size(each)
            is_old = time.time() - _used(each) > STALE_S if is_unfinished else total > MAX_BYTES
            if is_old and each != newest:
                shutil.rmtree(each, ignore_errors=True)


def _used(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return folder.stat().st_mtime
    return 0.0


def _size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(each.stat().st_size for each in folder.iterdir())
    return 0


class _Build:
    """One building of an index, within a time."""

    def __init__(self, con: duckdb.DuckDBPyConnection, schema: Schema, cancel: threading.Event) -> None:
        self._con, self._schema, self._cancel = con, schema, cancel
        self._began = time.monotonic()

    def into(self, folder: Path | None) -> DatabaseValues:
        """Build it.

        Raises:
            Cancelled: the cancel event was set.
        """
        values = DatabaseValues.build(self._pieces(), folder, lambda: self._goes_on(READING_S))
        _check(self._cancel)
        return values

    def _pieces(self) -> Iterator[ColumnTexts]:
        """The values, in pieces between which the time is looked at."""
        read = distinct_texts(self._con, self._schema, MOST_VALUES, READING_S / 2, self._cancel)
        for table, column, values in read:
            for start in range(0, len(values), PIECE):
                if not self._goes_on(READING_S / 2):
                    return
                yield ColumnTexts(table, column, values[start : start + PIECE])

    def _goes_on(self, seconds: float) -> bool:
        """Whether so many seconds are not over."""
        _check(self._cancel)
        if goes_on := time.monotonic() - self._began < seconds:
            return goes_on
        logger.info("the index of values is not whole: building took more than %g seconds", seconds)
        return False


def _check(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise Cancelled("the query was interrupted while its database's values were read")
