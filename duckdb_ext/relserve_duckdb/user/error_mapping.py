"""From what DuckDB raises to the exception that users expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from relserve.errors import Cancelled, RelserveError
from relserve_duckdb.udf.connection_state import ConnectionState


@contextmanager
def own_errors(state: ConnectionState) -> Iterator[None]:
    """Run DuckDB calls inside: errors of ours come out as themselves.

    Raises:
        duckdb.InterruptException: the statement was interrupted.
        RelserveError, KeyboardInterrupt: what a UDF raised, instead of DuckDB's text about it.
    """
    try:
        yield
    except Cancelled as error:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!") from error
    except duckdb.Error as error:
        ours = _behind(error, state)
        if ours is None:
            raise
        if isinstance(ours, Cancelled):
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!") from error
        raise ours from error
    finally:
        state.error = None  # its traceback holds the connection, which holds the state through DuckDB


def _behind(error: duckdb.Error, state: ConnectionState) -> BaseException | None:
    """The exception that a UDF raised, if it is what failed DuckDB's statement."""
    ours = state.error
    if ours is None or "Python exception" not in str(error):
        return None
    return ours if isinstance(ours, (RelserveError, KeyboardInterrupt)) else None
