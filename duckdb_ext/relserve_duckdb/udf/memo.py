"""The answers of one statement, and inputs counted until they are asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable
from math import inf
from typing import Any, NamedTuple

from relserve.call.options import Options
from relserve.call.relquery import CallSite, RelQuery
from relserve.session.folding import FoldedRows, fold_rows, folded_before
from relserve.session.foreign_tables import NUM_ROWS
from relserve.session.ranked import likely_pairs
from relserve.text2sql.options import Text2SqlOptions
from relserve_duckdb.text.call_limits import RANK
from relserve_duckdb.udf.question_site import QuestionSite
from relserve_duckdb.udf.site import Chunk, Site

WAIT_S = 0.05  # how often a thread that waits for another one's answers looks at its cancel event


Known = dict[str | None, Any]  # answers by prompt; the prompt None is that of a row with a NULL


class Wanted(NamedTuple):
    """Distinct inputs of one site: for each its prompt, and how many rows it stands for.

    Attributes:
        prompts: as the site's binding renders them, or what tells the inputs apart in their place.
        num_null: rows besides that a NULL leaves without a prompt.
        rows: the values of each input, where what is asked hangs on them; else of the first few.
    """

    site: Site
    prompts: list[str]
    multiplicity: list[int]
    num_null: int
    rows: list[tuple[Any, ...]]

    def without_null(self) -> Wanted:
        """The same without the rows that need no call."""
        return self._replace(num_null=0)


Ask = Callable[[Wanted], Iterable[tuple[str, Any]]]


def relquery_of(wanted: Wanted, site: CallSite) -> RelQuery:
    """The relQuery that asks inputs by their values; the rows without a prompt are its last one."""
    rows, multiplicity = wanted.rows, wanted.multiplicity
    if wanted.num_null and rows:
        rows, multiplicity = [*rows, (None,) * len(rows[0])], [*multiplicity, wanted.num_null]
    return RelQuery(site.function, site.binding, rows, site.options, multiplicity)


def folded_of(wanted: Wanted, site: CallSite) -> FoldedRows:
    """The user messages of inputs, rendered and folded when they came to the UDF wherever that is enough.

    Of llm_rank those that are likely, for the answers decide which there are.
    """
    if site.hangs_on_values:
        relquery = relquery_of(wanted, site)
        relquery = likely_pairs(relquery) if site.function == RANK else relquery
        grammars = site.grammars(relquery.rows)
        return fold_rows(relquery.prompts(), relquery.multiplicity, grammars=grammars)
    return folded_before(site.messages(wanted.prompts), wanted.multiplicity, wanted.num_null)


class FirstRows:
    """The values of the first row of each prompt.

    Where what is asked hangs on prompts alone, those of the first few tell what a call is about, and no
    others are kept.
    """

    def __init__(self, site: Site) -> None:
        self.most = inf if isinstance(site, QuestionSite) or site.hangs_on_values else NUM_ROWS
        self._rows: dict[str | None, tuple[Any, ...]] = {}

    def add(self, chunk: Chunk) -> None:
        """Look at a chunk's rows."""
        rows, most = self._rows, self.most
        if len(rows) >= most:
            return
        for i, prompt in enumerate(chunk.prompts):
            if prompt not in rows:
                rows[prompt] = chunk.row(i)
                if len(rows) >= most:
                    return

    def of(self, prompts: Iterable[str]) -> list[tuple[Any, ...]]:
        """The values of these prompts; or of the first few, whatever they are of."""
        rows = self._rows
        return list(rows.values()) if self.most < inf else [rows[prompt] for prompt in prompts]


class Tally:
    """Inputs of one site as they come: the number of rows of each prompt, in the order of its first row."""

    def __init__(self, site: Site) -> None:
        self.site, self.counts = site, Counter[str | None]()
        self._first = FirstRows(site)

    def add(self, chunk: Chunk) -> None:
        """Count a chunk's rows."""
        self.counts.update(chunk.prompts)
        self._first.add(chunk)

    def wanted(self, known: Known, claimed: Container[str | None] = ()) -> Wanted | None:
        """What is to be asked, with the rows that need no call for a NULL; None when nothing is."""
        prompts = [p for p in self.counts if p is not None and p not in known and p not in claimed]
        return self._of(prompts) if prompts else None

    def all(self) -> Wanted:
        """Everything that came."""
        return self._of([prompt for prompt in self.counts if prompt is not None])

    def _of(self, prompts: list[str]) -> Wanted:
        counts = self.counts
        multiplicity = list(map(counts.__getitem__, prompts))
        return Wanted(self.site, prompts, multiplicity, counts[None], self._first.of(prompts))


class Memo:
    """Answers by function, options and prompt: within a statement each prompt is asked once.

    Several DuckDB threads may miss at once: a thread claims the prompts that nobody is asking, asks them
    together, and waits for those that others claimed.

    Args:
        keeps: off, every chunk starts without answers.
    """

    def __init__(self, keeps: bool = True) -> None:
        self.keeps = keeps
        self._answers: dict[tuple[str, Options | Text2SqlOptions], Known] = {}
        self._claims: dict[int, set[str | None]] = {}  # by id of the answers that they are for
        self._changed = threading.Condition()

    def known(self, site: Site) -> Known:
        """The answers to the site's function and options."""
        if not self.keeps:
            return {None: None}
        return self._answers.setdefault((site.function, site.options), {None: None})

    def answer(self, chunk: Chunk, ask: Ask, check: Callable[[], None]) -> list[Any]:
        """The answers of a chunk, asking those that are not known.

        Args:
            ask: gives the prompts of the wanted inputs with their answers.
            check: raises when the statement was cancelled.
        """
        known = self.known(chunk.site)
        while True:
            try:
                return list(map(known.__getitem__, chunk.prompts))
            except KeyError:
                check()
                self._fill(chunk, known, ask)

    def _fill(self, chunk: Chunk, known: Known, ask: Ask) -> None:
        """Ask what nobody is asking; if there is no such thing, wait a moment for the others."""
        mine = Tally(chunk.site)
        mine.add(chunk)
        with self._changed:
            claimed = self._claims.setdefault(id(known), set())
            wanted = mine.wanted(known, claimed)
            if wanted is None:
                self._changed.wait(WAIT_S)
                return
            claimed.update(wanted.prompts)
        try:
            known.update(ask(wanted))
        finally:
            with self._changed:
                claimed.difference_update(wanted.prompts)
                if not claimed:
                    self._claims.pop(id(known), None)
                self._changed.notify_all()
