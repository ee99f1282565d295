"""Asking a statement's rows at once: rehearse it to learn what its calls will ask, ask, then run it.

A rehearsal runs the statement's SELECT with calls that note their inputs and say NULL, and throws its result
away. So DuckDB itself decides which rows reach a call: cheap predicates, LIMIT, CASE and joins are obeyed.
Calls behind another call's answer show up in the next rehearsal, when that answer is known. Whatever a
rehearsal gets wrong costs time, never an answer: the user's own text runs afterwards, unchanged, and asks
what is still missing.
"""

from __future__ import annotations

import logging

import duckdb
import pyarrow as pa

from relserve.errors import Cancelled, RelserveError
from relserve_duckdb.rehearse.filter_plan import FilterPlan
from relserve_duckdb.rehearse.rehearsal import Rehearsal
from relserve_duckdb.text.plans import filters_together, stops_early
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.handlers import Collecting, Planning
from relserve_duckdb.udf.memo import Wanted

log = logging.getLogger(__name__)

MAX_REHEARSALS = 8  # deeper chains of calls, such as recursive CTEs, ask the rest while they run


def prefetch(state: ConnectionState, rehearsal: Rehearsal) -> None:
    """Ask what the statement will ask, a relQuery a call site.

    Raises:
        RelserveError: the call is wrong, the engine failed, or a row failed under on_error := 'raise'.
        duckdb.InterruptException: the user interrupted.
    """
    run = state.run
    try:
        with state.handled_by(Planning()):
            if not rehearsal.may_call():
                log.debug("no prefetch: the name of a view or macro stands in the text, and none is called")
                return
            plan = rehearsal.plan()
        filter_plan = _begin_filter_plan(state, rehearsal, plan)
        if filter_plan is None and stops_early(plan):
            log.debug("no prefetch: a LIMIT over an llm filter may stop early")
            return
        if not _ask_in_rounds(state, rehearsal, filter_plan):
            run.skipped.clear()
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow streams wrap DuckDB's errors; one about a BLOB may hold bytes that are no text
        if isinstance(state.error, RelserveError) and not isinstance(state.error, Cancelled):
            raise state.error from error
        run.check_cancel()
        run.skipped.clear()
        log.debug("no prefetch: %s", error)


def _begin_filter_plan(state: ConnectionState, rehearsal: Rehearsal, plan: str) -> FilterPlan | None:
    """Decide the llm filters of a statement that can do with fewer prompts; None for any other."""
    shape = rehearsal.shape
    if shape is None or (shape.limit is None and (len(shape.filters) == 1 or stops_early(plan))):
        return None
    if not filters_together(plan, len(shape.filters), shape.limit is not None):
        return None
    filter_plan = FilterPlan(state, shape, rehearsal)
    return filter_plan if filter_plan.begin() else None


def _ask_in_rounds(state: ConnectionState, rehearsal: Rehearsal, filter_plan: FilterPlan | None) -> bool:
    """Rehearse and ask until nothing is left to ask; whether what is skipped may stay so."""
    num_rounds = 0
    while num_rounds < MAX_REHEARSALS:
        found, num_rows = _rehearse(state, rehearsal, filter_plan)
        if filter_plan is not None and filter_plan.falls_short(num_rows):
            if filter_plan.gave_up:
                return False
            continue
        if not found:
            return True
        first_only = len(found) > 1 and not rehearsal.independent
        for wanted in found[:1] if first_only else found:
            state.run.remember(wanted)
        if rehearsal.independent and filter_plan is None:
            return True
        num_rounds += 1
    return filter_plan is not None and filter_plan.is_settled


def _rehearse(
    state: ConnectionState, rehearsal: Rehearsal, filter_plan: FilterPlan | None
) -> tuple[list[Wanted], int]:
    """What the calls ask beyond the known answers, sites in the order of their first call; rows that came.

    Only the first site's inputs are sure: it was called before any call had said NULL.
    """
    run = state.run
    if filter_plan is not None and not filter_plan.is_settled:
        run.skipped.take_snapshot()
    num_rows = 0
    with state.handled_by(Collecting(run)) as collected:
        for batch in rehearsal.batches():
            num_rows += batch.num_rows
            run.check_cancel()
    found = [tally.wanted(run.memo.known(site)) for site, tally in collected.tallies.items()]
    return [wanted for wanted in found if wanted is not None], num_rows
