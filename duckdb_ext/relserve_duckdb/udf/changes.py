"""Counts what may change data, so that a cursor can tell whether another one has done so."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from relserve_duckdb.text.lexical import LEAD

_READS = re.compile(LEAD + r"(select|from|explain\s++select|describe|show|summarize|values)\b[^;]*+;?+\s*+\Z")


class Changes:
    """Changes made by the cursors of a connection; each cursor is known by a number."""

    def __init__(self) -> None:
        self._started: Counter[int] = Counter()
        self._under_way: Counter[int] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def by(self, cursor: int, text: str = "") -> Iterator[None]:
        """A statement of the cursor runs inside; a text that surely only reads is no change."""
        if _READS.match(text):
            yield
            return
        with self._lock:
            self._started[cursor] += 1
            self._under_way[cursor] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[cursor] -= 1

    def of_others(self, cursor: int) -> int | None:
        """How many changes all other cursors have made; None while one is being made."""
        with self._lock:
            if any(count for each, count in self._under_way.items() if each != cursor):
                return None
            return self._started.total() - self._started[cursor]
