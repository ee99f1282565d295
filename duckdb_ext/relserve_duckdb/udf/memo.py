"""The answers of one statement, and inputs counted until they are asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relserve.call.options import Options
from relserve.text2sql.options import Text2SqlOptions
from relserve_duckdb.udf.site import Chunk, Site

WAIT_S = 0.05  # how often a thread that waits for another one's answers looks at its cancel event


Known = dict[str | None, Any]  # answers by prompt; the prompt None is that of a row with a NULL


class Wanted(NamedTuple):
    """Distinct inputs of one site: for each its prompt, its values, and how many rows it stands for."""

    site: Site
    prompts: list[str | None]
    rows: list[tuple[Any, ...]]
    multiplicity: list[int]

    def without_null(self) -> Wanted:
        """The same without the input that needs no call."""
        if None not in self.prompts:
            return self
        kept = [i for i, prompt in enumerate(self.prompts) if prompt is not None]
        return Wanted(
            self.site, [self.prompts[i] for i in kept], [self.rows[i] for i in kept],
            [self.multiplicity[i] for i in kept],
        )  # fmt: skip


Ask = Callable[[Wanted], Iterable[tuple[str | None, Any]]]


@dataclass
class Tally:
    """Inputs of one site as they come: per prompt the first row's values and the number of rows."""

    site: Site
    rows: dict[str | None, tuple[Any, ...]] = field(default_factory=dict)
    counts: Counter[str | None] = field(default_factory=Counter)

    def add(self, chunk: Chunk) -> None:
        """Count a chunk's rows."""
        self.counts.update(chunk.prompts)
        for i in [i for i, prompt in enumerate(chunk.prompts) if prompt not in self.rows]:
            self.rows[chunk.prompts[i]] = chunk.row(i)

    def wanted(self, known: Known, claimed: Container[str | None] = ()) -> Wanted | None:
        """What is to be asked, with the rows that need no call for a NULL; None when nothing is."""
        prompts = [p for p in self.rows if p is None or (p not in known and p not in claimed)]
        if prompts in ([], [None]):
            return None
        rows, counts = [self.rows[p] for p in prompts], [self.counts[p] for p in prompts]
        return Wanted(self.site, prompts, rows, counts)


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
