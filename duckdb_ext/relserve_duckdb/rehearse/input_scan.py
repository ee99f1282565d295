"""The inputs of all llm filters of a WHERE, row by row, before any filter is asked.

The user's own text runs with filters that note their inputs. DuckDB asks the conjuncts of a WHERE one after
another, each for the rows that passed those before; here all but the last to be called let every row pass,
and the last none. So in each thread the calls of one chunk follow each other and see the same rows in the
same order: the inputs of a row stand side by side. Where that does not hold (a cheap predicate comes in
between), the lengths differ, and the scan is not used.
"""

from __future__ import annotations

import threading
from collections.abc import KeysView, Sequence
from typing import Any

from relserve.call.relquery import CallSite
from relserve_duckdb.rehearse.filter_shape import Filter
from relserve_duckdb.udf.memo import FirstRows
from relserve_duckdb.udf.site import Chunk
from relserve_duckdb.udf.statement_run import StatementRun


class InputScan:
    """Inputs of the filters, side by side.

    Attributes:
        columns: of each filter, the prompts of all rows seen; None is that of a row with a NULL.
        first_rows: of each filter, values of rows that its prompts came from; None before its first call.
        sites: of each filter, its call site; None before its first call.
        order: the filters by number, as DuckDB calls them.
    """

    def __init__(
        self, run: StatementRun, filters: Sequence[Filter], passing: Sequence[Any], max_rows: int | None
    ) -> None:
        """Start with no rows.

        Args:
            run: the statement whose rehearsal shows the inputs.
            filters: whose inputs to note.
            passing: of each filter, an answer that passes.
            max_rows: rows after which to let the LIMIT end the statement; None: see all rows.
        """
        self.run, self.filters, self.passing, self.max_rows = run, filters, passing, max_rows
        self.columns: list[list[str | None]] = [[] for _ in filters]
        self.first_rows: list[FirstRows | None] = [None for _ in filters]
        self.sites: list[CallSite | None] = [None for _ in filters]
        self.order: list[int] = list(range(len(filters)))
        self.is_cut_short = False
        self._interned: list[dict[str | None, str | None]] = [{} for _ in filters]  # one string a prompt
        self._is_aligned = True
        self._calls_of_thread: dict[int, dict[int, list[str | None]]] = {}  # of each thread's chunk so far
        self._lock = threading.Lock()

    @property
    def num_rows(self) -> int:
        return len(self.columns[0])

    def prompts(self, i: int) -> KeysView[str | None]:
        """The distinct prompts of filter i."""
        return self._interned[i].keys()

    def rows_of(self, i: int, prompts: Sequence[str]) -> list[tuple[Any, ...]]:
        """See `Wanted.rows`."""
        first = self.first_rows[i]
        return [] if first is None else first.of(prompts)

    @property
    def is_aligned(self) -> bool:
        """Whether the inputs of each row are known to stand side by side."""
        return self._is_aligned and not self._calls_of_thread

    def check(self) -> None:
        self.run.check_cancel()

    def answer(self, chunk: Chunk) -> list[Any]:
        """Note the inputs of a chunk; an answer that passes for each row, NULL by the last filter."""
        nothing: list[Any] = [None] * len(chunk.prompts)
        with self._lock:
            i = self._number_of(chunk.site) if isinstance(chunk.site, CallSite) else None
            if i is None or not self._is_aligned:
                return nothing
            calls = self._calls_of_thread.setdefault(threading.get_ident(), {})
            if i in calls or any(len(each) != len(chunk.prompts) for each in calls.values()):
                self._is_aligned = False
                return nothing
            interned = self._interned[i]
            calls[i] = [interned.setdefault(prompt, prompt) for prompt in chunk.prompts]
            if (first := self.first_rows[i]) is None:
                first = self.first_rows[i] = FirstRows(chunk.site)
            first.add(chunk)
            if len(calls) == len(self.filters):
                if not self._keep_rows(calls):
                    return nothing
            return [self.passing[i]] * len(chunk.prompts)

    def _keep_rows(self, calls: dict[int, list[str | None]]) -> bool:
        """Keep the rows of a chunk that all filters have seen; whether to let them pass."""
        full = self.max_rows is not None and self.num_rows >= self.max_rows
        del self._calls_of_thread[threading.get_ident()]
        self.order = list(calls)
        for i, prompts in calls.items():
            self.columns[i].extend(prompts)
        self.is_cut_short = self.is_cut_short or full
        return full

    def _number_of(self, site: CallSite) -> int | None:
        for i, each in enumerate(self.filters):
            if each.is_of(site):
                if self.sites[i] not in (None, site):
                    self._is_aligned = False  # one template, bound in two ways
                self.sites[i] = site
                return i
        return None
