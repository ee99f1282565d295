"""Asking a statement's rows at once: rehearse it to learn what its calls will ask, ask, then run it.

A rehearsal runs the statement's SELECT with calls that note their inputs and say NULL, and throws its result
away. So DuckDB itself decides which rows reach a call: cheap predicates, LIMIT, CASE and joins are obeyed.
Calls behind another call's answer show up in the next rehearsal, when that answer is known. Whatever a
rehearsal gets wrong costs time, never an answer: the user's own text runs afterwards, unchanged, and asks
what is still missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from relserve.errors import Cancelled, RelserveError
from relserve_duckdb.rehearse.filter_plan import Evaluate, FilterPlan
from relserve_duckdb.rehearse.filter_shape import FilterShape
from relserve_duckdb.text.plans import filters_together, stops_early
from relserve_duckdb.udf.memo import Wanted
from relserve_duckdb.udf.scope import Scope

log = logging.getLogger(__name__)

MAX_REHEARSALS = 8  # deeper chains of calls, such as recursive CTEs, ask the rest while they run


@dataclass(frozen=True)
class Rehearsal:
    """Something to rehearse.

    Attributes:
        plan: gives DuckDB's plan as JSON text; runs nothing.
        batches: runs the SELECT and gives its result piece by piece.
        independent: known to be such that no call's inputs hang on another call's answers.
        shape: the llm filters for which fewer prompts may do; None where the text shows none.
        evaluate: runs a SELECT without llm calls on the same connection.
    """

    plan: Callable[[], str]
    batches: Callable[[], Iterable[Any]]
    independent: bool
    shape: FilterShape | None
    evaluate: Evaluate


def prefetch(scope: Scope, rehearsal: Rehearsal) -> None:
    """Ask what `play` will ask, a relQuery a call site.

    Raises:
        RelserveError: the call is wrong, the engine failed, or a row failed under on_error := 'raise'.
        duckdb.InterruptException: the user interrupted.
    """
    try:
        with scope.planning():
            plan = rehearsal.plan()
        filter_plan = _begin_filter_plan(scope, rehearsal, plan)
        if filter_plan is None and stops_early(plan):
            log.debug("no prefetch: a LIMIT over an llm filter may stop early")
            return
        if not _ask_in_rounds(scope, rehearsal, filter_plan):
            scope.skipped = {}
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow streams wrap DuckDB's errors; one about a BLOB may hold bytes that are no text
        if isinstance(scope.error, RelserveError) and not isinstance(scope.error, Cancelled):
            raise scope.error from error
        scope.check_cancel()
        scope.skipped = {}
        log.debug("no prefetch: %s", error)


def _begin_filter_plan(scope: Scope, rehearsal: Rehearsal, plan: str) -> FilterPlan | None:
    """Decide the llm filters of a statement that can do with fewer prompts; None for any other."""
    shape = rehearsal.shape
    if shape is None or (shape.limit is None and (len(shape.filters) == 1 or stops_early(plan))):
        return None
    if not filters_together(plan, len(shape.filters), shape.limit is not None):
        return None
    filter_plan = FilterPlan(scope, shape, rehearsal.batches, rehearsal.evaluate)
    return filter_plan if filter_plan.begin() else None


def _ask_in_rounds(scope: Scope, rehearsal: Rehearsal, filter_plan: FilterPlan | None) -> bool:
    """Rehearse and ask until nothing is left to ask; whether what is excused may stay so."""
    num_rounds = 0
    while num_rounds < MAX_REHEARSALS:
        found, num_rows = _rehearse(scope, rehearsal, filter_plan)
        if filter_plan is not None and filter_plan.falls_short(num_rows):
            if filter_plan.gave_up:
                return False
            continue
        if not found:
            return True
        first_only = len(found) > 1 and not rehearsal.independent
        for wanted in found[:1] if first_only else found:
            scope.remember(wanted)
        if rehearsal.independent and filter_plan is None:
            return True
        num_rounds += 1
    return filter_plan is not None and filter_plan.is_settled


def _rehearse(scope: Scope, rehearsal: Rehearsal, filter_plan: FilterPlan | None) -> tuple[list[Wanted], int]:
    """What the calls ask beyond the known answers, sites in the order of their first call; rows that came.

    Only the first site's inputs are sure: it was called before any call had said NULL.
    """
    if filter_plan is not None and not filter_plan.is_settled:
        scope.take_stock()
    num_rows = 0
    with scope.collecting() as collector:
        for batch in rehearsal.batches():
            num_rows += batch.num_rows
            scope.check_cancel()
    found = [tally.wanted(scope.memo.known(site)) for site, tally in collector.tallies.items()]
    return [wanted for wanted in found if wanted is not None], num_rows
