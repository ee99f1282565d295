"""Cursors that were dropped without being closed: their functions leave the catalog all the same."""

from __future__ import annotations

import threading
import weakref

import duckdb

from relserve_duckdb.udf.macros import Functions


class Cursors:
    """The cursors of a connection and of its cursors; DuckDB itself never frees a dropped one's functions."""

    def __init__(self) -> None:
        self._known: list[tuple[weakref.ref[object], duckdb.DuckDBPyConnection, Functions]] = []
        self._lock = threading.Lock()

    def add(self, cursor: object, raw: duckdb.DuckDBPyConnection, functions: Functions) -> None:
        """Watch a new cursor, and clear up after those that are gone."""
        with self._lock:
            self._known = [each for each in self._known if not _is_done(*each)]
            self._known.append((weakref.ref(cursor), raw, functions))


def _is_done(cursor: weakref.ref[object], raw: duckdb.DuckDBPyConnection, functions: Functions) -> bool:
    """Whether nothing is left of a cursor: it is gone, and so are its functions."""
    if cursor() is not None:
        return False
    try:
        functions.remove(raw)
    except duckdb.ConnectionException:
        return True  # it was closed
    except duckdb.Error:
        return False  # somebody still reads its last result
    return True
