"""What a UDF does with a chunk: one class for each way of running (`rehearse.input_scan` has the fourth)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

from relserve_duckdb.udf.memo import Known, Tally
from relserve_duckdb.udf.site import Chunk, Site
from relserve_duckdb.udf.statement_run import StatementRun


class Handler(Protocol):
    """Answers the chunks that DuckDB hands to the UDFs; called by several threads."""

    def check(self) -> None:
        """Raise, before a chunk is read, where none may be answered."""

    def answer(self, chunk: Chunk) -> list[Any]:
        """A value for each row of the chunk."""


class PlanningOnly(Exception):
    """Refuses to fold a constant call; DuckDB's optimiser swallows it."""


class Planning:
    """Refuses, so that DuckDB leaves every call in the plan."""

    def check(self) -> NoReturn:
        raise PlanningOnly("no call at plan time")

    def answer(self, chunk: Chunk) -> NoReturn:
        self.check()


class Collecting:
    """Asks nothing: notes what calls would ask, and gives the known answers, or NULL.

    Attributes:
        tallies: what they would ask; sites in the order of their first call with something to ask.
    """

    def __init__(self, run: StatementRun) -> None:
        self.tallies: dict[Site, Tally] = {}
        self._run = run
        self._lock = threading.Lock()

    def check(self) -> None:
        self._run.check_cancel()

    def answer(self, chunk: Chunk) -> list[Any]:
        known = self._run.memo.known(chunk.site)
        rows = self._run.skipped.rows_left(chunk, known)
        return _answer_rows(chunk, rows, lambda chunk: self._note(chunk, known))

    def _note(self, chunk: Chunk, known: Known) -> list[Any]:
        with self._lock:
            tally = self.tallies.get(chunk.site)
            if tally is None and not known.keys() >= set(chunk.prompts):
                tally = self.tallies[chunk.site] = Tally(chunk.site)
            if tally is not None:
                tally.add(chunk)
        has_answers = len(known) > 1  # more than what NULL gives
        return list(map(known.get, chunk.prompts)) if has_answers else [None] * chunk.num_rows


class Running:
    """Gives the known answers and asks the others."""

    def __init__(self, run: StatementRun) -> None:
        self._run = run

    def check(self) -> None:
        self._run.check_cancel()

    def answer(self, chunk: Chunk) -> list[Any]:
        skipped = self._run.skipped
        rows = skipped.rows_left(chunk, self._run.memo.known(chunk.site))
        if len(rows) < chunk.num_rows and skipped.are_stale():
            skipped.clear()
            rows = range(chunk.num_rows)
        return _answer_rows(chunk, rows, self._ask)

    def _ask(self, chunk: Chunk) -> list[Any]:
        return self._run.memo.answer(chunk, self._run.ask, self._run.check_cancel)


class Unread:
    """Asks nothing for rows that nobody will read."""

    def check(self) -> None:
        """They may be answered."""

    def answer(self, chunk: Chunk) -> list[Any]:
        return [None] * chunk.num_rows


def _answer_rows(chunk: Chunk, rows: Sequence[int], answer: Callable[[Chunk], list[Any]]) -> list[Any]:
    """The answers of these rows of a chunk, NULL for the others."""
    if len(rows) == chunk.num_rows:
        return answer(chunk)
    values: list[Any] = [None] * chunk.num_rows
    if rows:
        for i, value in zip(rows, answer(chunk.only(rows)), strict=True):
            values[i] = value
    return values
