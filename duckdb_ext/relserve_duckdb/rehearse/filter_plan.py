"""Fewer prompts for a statement: decide its llm filters row by row, and excuse what is left.

Two things make it right, whatever the text suggested and the survey saw:

* A filter's condition is not TRUE for a NULL answer, so a row that passes while some answers are missing
  passes for the answers that are there. A LIMIT that is full without the rest is full for good; the rehearsal
  that found it full is the user's own text.
* Without a LIMIT only inputs are excused whose every row is dropped by another filter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relserve.policies.filter_order import CHUNK, SPARE
from relserve_duckdb.rehearse.filter_runner import FilterRunner
from relserve_duckdb.rehearse.filter_shape import ANSWER, Filter, FilterShape
from relserve_duckdb.rehearse.input_scan import InputScan
from relserve_duckdb.udf.scope import Scope
from relserve_duckdb.udf.site import sql_type_of

WIDER = 4  # each further survey looks at so many times the rows

Evaluate = Callable[[str, list[Any]], list[tuple[Any, ...]]]  # rows of a SELECT with one parameter


class _Everything:
    def __contains__(self, prompt: object) -> bool:
        return True


class FilterPlan:
    """One statement's way to fewer prompts.

    Args:
        batches: runs the statement's SELECT and gives its result piece by piece.
        evaluate: runs a SELECT without llm calls on the user's connection.
    """

    def __init__(
        self, scope: Scope, shape: FilterShape, batches: Callable[[], Iterable[Any]], evaluate: Evaluate
    ) -> None:
        self.scope, self.shape, self.batches, self.evaluate = scope, shape, batches, evaluate
        self.need = None if shape.limit is None else shape.limit + shape.offset
        self.window = None if self.need is None else max(CHUNK, WIDER * self.need)
        self.passing: list[Any] = []
        self.has_ended = False  # all rows were decided
        self.gave_up = False  # the statement turned out not to be of the kind
        self._runner = FilterRunner(scope, shape.filters, self._judge)

    def begin(self) -> bool:
        """Ask what decides the filters; False when the statement turns out not to be of the kind."""
        for each in self.shape.filters:
            passes = self._judge(each, [None, *each.candidates()])
            good = [value for value, passed in passes.items() if passed]
            if passes[None] or not good:
                return False
            self.passing.append(good[0])
        return self._go_on()

    def falls_short(self, num_rows: int) -> bool:
        """Ask about more rows where a rehearsal has not filled the LIMIT; whether there was a need to.

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
        """Whether what is excused needs no full LIMIT as its proof."""
        return self.has_ended or self.shape.limit is None

    def _go_on(self) -> bool:
        self.scope.skipped = {}
        while True:
            scan = self._look()
            if not scan.is_aligned:
                return False
            self._runner.take(scan)
            sites = [site for site in scan.sites if site is not None]
            if self.need is None:
                self._runner.all()
            elif self._runner.until(self.need):
                self.scope.skipped = {site: _Everything() for site in sites}
                return True
            if not scan.is_cut_short:
                break
            self.window = WIDER * (self.window or 0)
        self.has_ended = True
        skipped = {site: self._runner.skipped(i) for i, site in enumerate(scan.sites) if site is not None}
        self.scope.skipped = {site: prompts for site, prompts in skipped.items() if prompts}
        return True

    def _look(self) -> InputScan:
        self.scope.take_stock()
        scan = InputScan(self.shape.filters, self.passing, self.window)
        with self.scope.scanning(scan):
            for _ in self.batches():
                self.scope.check_cancel()
        return scan

    def _judge(self, each: Filter, answers: Sequence[Any]) -> dict[Any, bool]:
        """Which answers pass a filter; DuckDB itself compares."""
        distinct = list(dict.fromkeys(answers))
        if each.condition == ANSWER:
            return {answer: answer is True for answer in distinct}
        if each.condition == f"NOT {ANSWER}":
            return {answer: answer is False for answer in distinct}
        kind = sql_type_of(each.function)
        text = f"SELECT {ANSWER}, ({each.condition}) IS TRUE FROM (SELECT unnest($1::{kind}[]) AS {ANSWER})"
        return {answer: bool(passes) for answer, passes in self.evaluate(text, distinct)}
