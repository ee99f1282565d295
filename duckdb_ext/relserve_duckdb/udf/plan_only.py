"""Running what only plans, without asking."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import duckdb

from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.handlers import Collecting, Planning, PlanningOnly

Result = TypeVar("Result")


def plan_only(state: ConnectionState, run: Callable[[], Result], kept: bool = False) -> Result:
    """Run what plans a statement, or stores it.

    Of some constant calls (in CASE WHEN) DuckDB insists to know the value: it is asked where the plan is
    kept, as by PREPARE, and NULL where it is only shown.
    """
    try:
        with state.handled_by(Planning()):
            return run()
    except duckdb.Error as error:
        if PlanningOnly.__name__ not in str(error):
            raise
    if kept:
        return run()
    with state.handled_by(Collecting(state.run)):
        return run()
