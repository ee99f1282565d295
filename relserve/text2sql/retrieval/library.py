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

from relserve.linking.schema import Schema
from relserve.text2sql.catalog.texts import ColumnTexts, distinct_texts
from relserve.text2sql.catalog.versions import database_version
from relserve.text2sql.retrieval.database_values import DatabaseValues

logger = logging.getLogger(__name__)

MOST_VALUES = 1_000_000  # in an index
READING_S = 30.0  # for reading them
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
        self._lock = threading.Lock()

    def values(self, con: duckdb.DuckDBPyConnection, schema: Schema) -> DatabaseValues:
        """The index of the values that a schema's text columns hold now."""
        version = database_version(con, schema)
        with self._lock:
            if (values := self._open.pop(version.key, None)) is None:
                columns = distinct_texts(con, schema, MOST_VALUES, READING_S)
                on_disk = version.is_in_files
                values = self._kept(version.key, columns) if on_disk else DatabaseValues.build(columns)
            self._open[version.key] = values
            while len(self._open) > NUM_IN_MEMORY:
                self._open.popitem(last=False)  # closed when its last user lets go of it
        return values

    def _kept(self, key: str, columns: Iterator[ColumnTexts]) -> DatabaseValues:
        """The index from disk; built where there is none that can be used."""
        place = self._folder / key[:32]
        try:
            values = DatabaseValues.open(place)
            os.utime(place)
        except FileNotFoundError:
            return self._build(place, columns)
        except (OSError, ValueError, EOFError, sqlite3.Error) as error:  # strangers may write there
            logger.warning("values are read anew, for %s cannot be used (%s)", place, error)
            shutil.rmtree(place, ignore_errors=True)
            return self._build(place, columns)
        return values

    def _build(self, place: Path, columns: Iterator[ColumnTexts]) -> DatabaseValues:
        """Build beside the place and move the finished folder there; in memory where the disk fails."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            unfinished = Path(tempfile.mkdtemp(".tmp", f"{place.name}.", self._folder))
        except OSError as error:
            logger.warning("values are not kept on disk: %s", error)
            return DatabaseValues.build(columns)
        try:
            DatabaseValues.build(columns, unfinished).close()
            with contextlib.suppress(OSError):  # another process was first
                unfinished.rename(place)
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
