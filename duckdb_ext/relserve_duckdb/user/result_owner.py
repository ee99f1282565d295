"""Threads that share a connection share its open result; a thread is told when its own was replaced."""

from __future__ import annotations

import threading

import duckdb


class ResultOwner:
    """Counts the statements of a connection and remembers each thread's last one."""

    def __init__(self) -> None:
        self._last = 0
        self._of_thread = threading.local()

    def take(self) -> None:
        """This thread runs a statement."""
        self._last += 1
        self._of_thread.number = self._last

    def check(self) -> None:
        """This thread reads a result; one that never ran a statement may read any.

        Raises:
            duckdb.InvalidInputException: another thread has run a statement since this thread's.
        """
        if getattr(self._of_thread, "number", self._last) != self._last:
            raise duckdb.InvalidInputException(
                "another thread ran a statement on this connection before this thread's result was read, "
                "which ended it; give each thread a connection of its own with con.cursor()"
            )
