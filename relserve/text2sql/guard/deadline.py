"""DuckDB's own limit of time, at which a statement ends by itself.

An interrupt of another thread can hang DuckDB 2.0.0 and 2.0.1 for good: where the thread that waits for a
recursive query has begun a part of it, it drops this part, and the recursion waits for its end at full speed.
The limit of time is seen by whoever works, so it ends such a query, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from relserve.text2sql.guard.limits import StatementLimits, limit_error

LATE_S = 2.0  # how long after it a watchdog interrupts what DuckDB has not ended, such as its own planning
SETTING = "max_execution_time"
_FORMER = f"SELECT system.main.current_setting('{SETTING}')"
_ENDED = "maximum execution time"


@contextmanager
def deadline(con: duckdb.DuckDBPyConnection, limits: StatementLimits) -> Iterator[None]:
    """Each statement that begins inside on the connection ends within `limits.seconds`.

    The time in which a model answers counts, so what may ask is not run inside. A shorter limit of the user
    stays. Where the database's settings are locked without this one, there are interrupts alone.

    Raises:
        LimitError: a statement took longer.
    """
    ((former,),) = con.execute(_FORMER).fetchall()
    is_shorter = limits.seconds != math.inf and not 0 < former <= limits.seconds * 1000
    if not (is_shorter and _set(con, math.ceil(limits.seconds * 1000))):
        yield
        return
    try:
        yield
    except duckdb.InterruptException as error:
        if _ENDED in str(error):
            raise limit_error("seconds", limits) from error
        raise
    finally:
        _set(con, former)


def _set(con: duckdb.DuckDBPyConnection, milliseconds: int) -> bool:
    """Whether it may be set."""
    try:
        con.execute(f"SET SESSION {SETTING} = {milliseconds}")
    except duckdb.InvalidInputException:
        return False
    return True
