"""Ctrl-C and con.interrupt(): from a signal to an aborted relQuery to the exception that users expect."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import duckdb

from relserve.errors import Cancelled, RelserveError
from relserve_duckdb.udf.scope import Scope


@contextmanager
def guarded(scope: Scope, con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Run DuckDB calls inside: Ctrl-C aborts what is asked, and errors of ours come out as themselves.

    Raises:
        KeyboardInterrupt: on Ctrl-C.
        duckdb.InterruptException: on con.interrupt().
        RelserveError: what a UDF raised, instead of DuckDB's text about it.
    """
    with _sigint(scope, con):
        try:
            yield
        except Cancelled as error:
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!") from error
        except duckdb.Error as error:
            ours = _behind(error, scope)
            if ours is None:
                raise
            if isinstance(ours, Cancelled):
                raise duckdb.InterruptException("INTERRUPT Error: Interrupted!") from error
            raise ours from error
        finally:
            scope.error = None  # its traceback holds the connection, which holds the scope through DuckDB


def _behind(error: duckdb.Error, scope: Scope) -> BaseException | None:
    """The exception that a UDF raised, if it is what failed DuckDB's statement."""
    ours = scope.error
    if ours is None or "Python exception" not in str(error):
        return None
    return ours if isinstance(ours, (RelserveError, KeyboardInterrupt)) else None


@contextmanager
def _sigint(scope: Scope, con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """While inside, SIGINT sets the cancel event; on the way out the former handler gets its signal.

    Python runs handlers on the main thread only, so elsewhere there is nothing to do. Without this the
    KeyboardInterrupt would arise inside a UDF while other threads go on waiting for the engine.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield
        return
    came: list[FrameType | None] = []

    def cancel(number: int, frame: FrameType | None) -> None:
        came.append(frame)
        scope.cancel.set()
        con.interrupt()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        if came:
            former(signal.SIGINT, came[0])
