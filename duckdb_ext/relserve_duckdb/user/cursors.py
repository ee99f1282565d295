"""Cursors that were dropped without being closed: what answers their functions is freed all the same."""

from __future__ import annotations

import threading
import weakref

from relserve_duckdb.udf.macros import Functions


class Cursors:
    """The cursors of a connection and of its cursors; DuckDB itself never frees what a dropped one holds."""

    def __init__(self) -> None:
        self._known: list[tuple[weakref.ref[object], Functions]] = []
        self._lock = threading.Lock()

    def add(self, cursor: object, functions: Functions) -> None:
        """Watch a new cursor, and clear up after those that are gone."""
        self.sweep()
        with self._lock:
            self._known.append((weakref.ref(cursor), functions))

    def sweep(self) -> None:
        """Clear up after those that are gone."""
        with self._lock:
            self._known = [each for each in self._known if not _is_done(*each)]


def _is_done(cursor: weakref.ref[object], functions: Functions) -> bool:
    """Whether nothing is left of a cursor: it is gone, and nobody reads its last result."""
    if cursor() is not None or functions.may_be_called:
        return False
    functions.close()
    return True
