"""Fewer prompts for a statement: decide its llm filters row by row, and skip the prompts that are left.

The result is right, whatever the text suggested and the scan of the inputs saw, for two reasons:

* A filter's condition is not TRUE for a NULL answer, so a row that passes while some answers are missing
  passes for the answers that are there. A LIMIT that is full without the rest is full for good; the rehearsal
  that found it full is the user's own text.
* Without a LIMIT only those prompts are skipped whose every row is dropped by another filter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relserve.policies.filter_order import CHUNK, SPARE
from relserve_duckdb.rehearse.filter_runner import FilterRunner
from relserve_duckdb.rehearse.filter_shape import ANSWER, Filter, FilterShape
from relserve_duckdb.rehearse.input_scan import InputScan
from relserve_duckdb.rehearse.rehearsal import Rehearsal
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.site import sql_type_of
from relserve_duckdb.udf.skipped import EveryPrompt

WINDOW_GROWTH = 4  # each further scan of the inputs looks at so many times the rows


class FilterPlan:
    """Decides the filters of the running statement with as few prompts as will do."""

    def __init__(self, state: ConnectionState, shape: FilterShape, rehearsal: Rehearsal) -> None:
        self.state, self.run, self.shape, self.rehearsal = state, state.run, shape, rehearsal
        self.need = None if shape.limit is None else shape.limit + shape.offset
        self.window = None if self.need is None else max(CHUNK, WINDOW_GROWTH * self.need)
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
            self.window = WINDOW_GROWTH * (self.window or 0)
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
