"""Connections that a test leaves open are closed after it.

Each would keep its tables, DuckDB's threads and a number of the UDFs: a next connection, which gets none that
another had, takes twice as long to make.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relserve_duckdb.user.connection import Connection

_make = Connection.__init__
_made: weakref.WeakSet[Connection] = weakref.WeakSet()


def _noted(con: Connection, *args: Any, **options: Any) -> None:
    _make(con, *args, **options)
    is_cursor = options.get("parent") is not None or len(args) > 5
    if not is_cursor and threading.current_thread() is threading.main_thread():
        _made.add(con)


Connection.__init__ = _noted  # type: ignore[method-assign]


@contextmanager
def closed_at_the_end() -> Iterator[None]:
    """Connections that this thread makes inside are closed; not cursors, which end with theirs."""
    before = set(_made)
    yield
    for con in set(_made) - before:
        con.close()
        _made.discard(con)
