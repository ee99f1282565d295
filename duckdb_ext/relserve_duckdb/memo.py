"""The answers of the running statement, and what a rehearsal found to ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relserve.options import Options
from relserve_duckdb.site import Chunk, Site

WAIT_S = 0.05  # how often a thread that waits for another one's answers looks at its cancel event


class Wanted(NamedTuple):
    """Distinct inputs of one site: for each its prompt, its values, and how many rows it stands for."""

    site: Site
    prompts: list[str]
    rows: list[tuple[Any, ...]]
    multiplicity: list[int]


@dataclass
class Tally:
    """Inputs of one site as they come: per prompt the first row's values and the number of rows."""

    site: Site
    rows: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, prompt: str, row: tuple[Any, ...]) -> None:
        if prompt in self.counts:
            self.counts[prompt] += 1
        else:
            self.counts[prompt] = 1
            self.rows[prompt] = row

    def wanted(self) -> Wanted:
        return Wanted(self.site, list(self.rows), list(self.rows.values()), list(self.counts.values()))


@dataclass
class Collector:
    """What a rehearsal's calls would ask; sites in the order of their first call."""

    tallies: dict[Site, Tally] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, chunk: Chunk, known: dict[str, Any]) -> None:
        """Take a chunk's prompts that have no answer yet."""
        with self.lock:
            tally = self.tallies.get(chunk.site)
            for prompt, row in zip(chunk.prompts, chunk.rows, strict=True):
                if prompt is None or prompt in known:
                    continue
                if tally is None:
                    tally = self.tallies[chunk.site] = Tally(chunk.site)
                tally.add(prompt, row)


class Memo:
    """Answers by function, options and prompt: within a statement each prompt is asked once.

    Several DuckDB threads may miss at once: a thread claims the prompts that nobody is asking, asks them
    together, and waits for those that others claimed.
    """

    def __init__(self) -> None:
        self._answers: dict[tuple[str, Options], dict[str, Any]] = {}
        self._claimed: set[tuple[str, Options, str]] = set()
        self._changed = threading.Condition()

    def clear(self) -> None:
        """Forget every answer; a thread still at work for the last statement keeps its own."""
        with self._changed:
            self._answers = {}

    def known(self, site: Site) -> dict[str, Any]:
        """The answers to the site's function and options, by prompt."""
        key = (site.function, site.options)
        return self._answers.get(key) or self._answers.setdefault(key, {})

    def answer(
        self, chunk: Chunk, ask: Callable[[Wanted], Sequence[Any]], check: Callable[[], None]
    ) -> list[Any]:
        """The answers of a chunk, asking those that are not known.

        Args:
            ask: gives the values of the wanted inputs, in order.
            check: raises when the statement was cancelled.
        """
        known = self.known(chunk.site)
        try:
            return [None if prompt is None else known[prompt] for prompt in chunk.prompts]
        except KeyError:
            self._fill(chunk, known, ask, check)
            return [None if prompt is None else known[prompt] for prompt in chunk.prompts]

    def _fill(
        self,
        chunk: Chunk,
        known: dict[str, Any],
        ask: Callable[[Wanted], Sequence[Any]],
        check: Callable[[], None],
    ) -> None:
        head = chunk.site.function, chunk.site.options
        while True:
            mine = self._claim(chunk, known, head)
            if mine.rows:
                wanted = mine.wanted()
                try:
                    known.update(zip(wanted.prompts, ask(wanted), strict=True))
                finally:
                    with self._changed:
                        self._claimed.difference_update((*head, prompt) for prompt in wanted.prompts)
                        self._changed.notify_all()
            with self._changed:
                missing = [p for p in chunk.prompts if p is not None and p not in known]
                if not missing:
                    return
                if any((*head, prompt) in self._claimed for prompt in missing):
                    self._changed.wait(WAIT_S)
            check()

    def _claim(self, chunk: Chunk, known: dict[str, Any], head: tuple[str, Options]) -> Tally:
        mine = Tally(chunk.site)
        with self._changed:
            for prompt, row in zip(chunk.prompts, chunk.rows, strict=True):
                if prompt is None or prompt in known:
                    continue
                if prompt in mine.counts or (*head, prompt) not in self._claimed:
                    mine.add(prompt, row)
            self._claimed.update((*head, prompt) for prompt in mine.rows)
        return mine
