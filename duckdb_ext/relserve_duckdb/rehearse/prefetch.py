"""Asking a statement's rows at once: rehearse it to learn what its calls will ask, ask, then run it.

A rehearsal runs the statement's SELECT with calls that note their inputs and say NULL, and throws its result
away. So DuckDB itself decides which rows reach a call: cheap predicates, LIMIT, CASE and joins are obeyed.
Calls behind another call's answer show up in the next rehearsal, when that answer is known. Whatever a
rehearsal gets wrong costs time, never an answer: the user's own text runs afterwards, unchanged, and asks
what is still missing.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from relserve.errors import Cancelled, RelserveError
from relserve.policies.filter_order import CHUNK, SPARE
from relserve_duckdb.rehearse.filter_runner import FilterRunner
from relserve_duckdb.rehearse.filter_shape import ANSWER, Filter, FilterShape
from relserve_duckdb.rehearse.input_scan import InputScan
from relserve_duckdb.rehearse.rehearsal import Rehearsal
from relserve_duckdb.text.plans import filters_together, stops_early
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.handlers import Collecting, Planning
from relserve_duckdb.udf.memo import Wanted
from relserve_duckdb.udf.site import sql_type_of
from relserve_duckdb.udf.skipped import EveryPrompt

log = logging.getLogger(__name__)

MAX_REHEARSALS = 8  # deeper chains of calls, such as recursive CTEs, ask the rest while they run
_WINDOW_GROWTH = 4  # each further scan of the inputs looks at so many times the rows


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


class FilterPlan:
    """Decides the filters of the running statement row by row, with as few prompts as will do.

    The result is right, whatever the text suggested and the scan of the inputs saw, for two reasons:

    * A filter's condition is not TRUE for a NULL answer, so a row that passes while some answers are missing
      passes for the answers that are there. A LIMIT that is full without the rest is full for good; the
      rehearsal that found it full is the user's own text.
    * Without a LIMIT only those prompts are skipped whose every row is dropped by another filter.
    """

    def __init__(self, state: ConnectionState, shape: FilterShape, rehearsal: Rehearsal) -> None:
        self.state, self.run, self.shape, self.rehearsal = state, state.run, shape, rehearsal
        self.need = None if shape.limit is None else shape.limit + shape.offset
        self.window = None if self.need is None else max(CHUNK, _WINDOW_GROWTH * self.need)
        self.passing: list[Any] = []
        self.has_ended = False  # all rows were decided
        self.gave_up = False  # the inputs of a later scan were not aligned
        self._runner = FilterRunner(state, shape.filters, self._judge)

    def begin(self) -> bool:
        """Ask what decides the filters; False when a filter passes NULL or the inputs are not aligned."""
        for each in self.shape.filters:
            passes = self._judge(each, [None, *each.candidates()])
            good = [value for value, passed in passes.items() if passed]
            if passes[None] or not good:
                return False
            self.passing.append(good[0])
        return self._go_on()

    def falls_short(self, num_rows: int) -> bool:
        """Ask about more rows where a rehearsal has not filled the LIMIT; whether it had not.

        Between a filter and the LIMIT a join may drop rows, so that more have to pass.
        """
        if self.need is None or self.shape.limit is None or self.has_ended or num_rows >= self.shape.limit:
            return False
        wanted = math.ceil(SPARE * self.need * self.shape.limit / max(1, num_rows))
        self.need = min(2 * self.need, max(self.need + 1, wanted))
        self.gave_up = not self._go_on()
        return True

    @property
    def is_settled(self) -> bool:
        """Whether the skipped prompts need no full LIMIT as their proof."""
        return self.has_ended or self.shape.limit is None

    def _go_on(self) -> bool:
        self.run.skipped.clear()
        while True:
            scan = self._scan()
            if not scan.is_aligned:
                return False
            self._runner.use(scan)
            sites = [site for site in scan.sites if site is not None]
            if self.need is None:
                self._runner.decide_all()
            elif self._runner.decide_until(self.need) or self.run.waits_for_batch:
                self.has_ended = self.run.waits_for_batch  # the next run of the statement goes on
                self.run.skipped.replace({site: EveryPrompt() for site in sites})
                return True
            if not scan.is_cut_short:
                break
            self.window = _WINDOW_GROWTH * (self.window or 0)
        self.has_ended = True
        skipped = {site: self._runner.skipped(i) for i, site in enumerate(scan.sites) if site is not None}
        self.run.skipped.replace({site: prompts for site, prompts in skipped.items() if prompts})
        return True

    def _scan(self) -> InputScan:
        self.run.skipped.take_snapshot()
        scan = InputScan(self.run, self.shape.filters, self.passing, self.window)
        with self.state.handled_by(scan):
            for _ in self.rehearsal.batches():
                self.run.check_cancel()
        return scan

    def _judge(self, each: Filter, answers: Sequence[Any]) -> dict[Any, bool]:
        """Which answers pass a filter; DuckDB itself compares."""
        distinct = list(dict.fromkeys(answers))
        if each.condition == ANSWER:
            return {answer: answer is True for answer in distinct}
        if each.condition == f"NOT {ANSWER}":
            return {answer: answer is False for answer in distinct}
        kind = sql_type_of(each.function)
        answers_of = f"SELECT system.main.unnest($1::{kind}[]) AS {ANSWER}"
        text = f"SELECT {ANSWER}, ({each.condition}) IS TRUE FROM ({answers_of})"
        return {answer: bool(passes) for answer, passes in self.rehearsal.evaluate(text, distinct)}
