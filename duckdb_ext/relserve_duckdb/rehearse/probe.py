"""Rehearsing a statement without asking anything, to learn what each call would ask and what that depends on.

The first rehearsal says NULL to every call, so only calls that no answer decides about show all their inputs.
Further ones give a call made-up answers (yes, then no; the highest and the lowest score; each choice; a text
of its own for every prompt; a vector where clusters get names) and look at which other calls then get more or
fewer rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa

from relserve.call.answer_types import ChoiceAnswer, Number, Text, YesNo
from relserve.call.decisions import ExpectedLevel, Probability
from relserve.call.options import FUNCTIONS
from relserve.call.vectors import Vector
from relserve.session.folding import FoldedRows
from relserve_duckdb.rehearse.rehearsal import Rehearsal
from relserve_duckdb.udf.cluster_macros import MADE_UP
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.handlers import Collecting
from relserve_duckdb.udf.memo import Tally, folded_of
from relserve_duckdb.udf.question_site import QuestionSite
from relserve_duckdb.udf.site import Site
from relserve_duckdb.udf.statement_run import StatementRun

log = logging.getLogger(__name__)

MAX_REHEARSALS = 12  # rehearsals in all; each runs the part of the statement without llm calls
MAX_CHOICES = 4  # of a call with choices, tried as made-up answers
MARK = "\ufffc"  # stands in every made-up text, so that prompts made of one are known

Tallies = dict[Site, Tally]


@dataclass
class Reached:
    """A call site that a rehearsal reached.

    Attributes:
        tally: its inputs in the rehearsal that brought it the most rows.
        depends_on: numbers, from 1, of the sites whose answers change which rows reach it.
    """

    site: Site
    tally: Tally
    depends_on: list[int] = field(default_factory=list)

    @property
    def holds_answers(self) -> bool:
        """Whether another call's text stands in its prompts."""
        prompts = self.tally.counts if self.depends_on else ()
        return any(prompt is not None and MARK in prompt for prompt in prompts)

    @property
    def asks_fewer(self) -> bool:
        """Whether it has plans for pairs, of which few are asked."""
        return not isinstance(self.site, QuestionSite) and self.site.options.join != "pairs"

    def folded(self) -> FoldedRows | None:
        """What it would ask; None for text2sql_query(), whose stages follow from one another."""
        return None if isinstance(self.site, QuestionSite) else folded_of(self.tally.all(), self.site)


def probe(
    state: ConnectionState, rehearsal: Rehearsal, num_calls: int | None, names_clusters: bool = False
) -> list[Reached]:
    """The sites that a statement's rehearsals reach, in the order in which they would be asked.

    Args:
        num_calls: how many calls the statement makes; None when its text does not tell.
        names_clusters: whether it may ask about clusters of vectors, which are made up, then.

    Raises:
        duckdb.Error, pa.ArrowException: the statement itself fails.
        RelserveError: a call is wrong.
        Cancelled: the user interrupted.
    """
    run = state.new_run(state.run.execution, keeps_answers=True)
    tallies = _rehearse(state, run, rehearsal)
    found = {site: Reached(site, tally) for site, tally in tallies.items()}
    if rehearsal.independent or not found:
        return list(found.values())
    attempt = RehearsalProbe(state, run, rehearsal, found, tallies, names_clusters)
    number = 0
    # varying the last one teaches nothing once every call of the text was reached
    while number < len(found) - (len(found) == num_calls) and attempt.num_left > 0:
        number += 1
        attempt.vary(number)
    return list(found.values())


@dataclass
class RehearsalProbe:
    """The rehearsals with made-up answers, kept in a run of their own, which skips no prompt."""

    state: ConnectionState
    run: StatementRun
    rehearsal: Rehearsal
    found: dict[Site, Reached]
    before: Tallies  # of the rehearsal with the made-up answers chosen so far
    names_clusters: bool
    num_left: int = MAX_REHEARSALS - 1

    def vary(self, number: int) -> None:
        """Give site `number` one made-up answer after another, until other sites get more rows by one."""
        site = next(islice(self.found, number - 1, None))
        known = self.run.memo.known(site)
        prompts = [prompt for prompt in self.found[site].tally.counts if prompt is not None]
        varied = set(islice(self.found, number))
        for made_up in _made_up(site, prompts, self.names_clusters):
            if self.num_left <= 0:
                return
            self.num_left -= 1
            known.update(zip(prompts, made_up, strict=True))
            try:
                tallies = _rehearse(self.state, self.run, self.rehearsal)
            except (duckdb.Error, pa.ArrowException) as error:  # a made-up text that is no number or JSON
                self.run.check_cancel()
                self.state.error = None
                log.debug("a rehearsal with made-up answers failed: %s", error)
                continue
            finally:
                for prompt in prompts:
                    del known[prompt]
            if self._compare(number, varied, tallies):
                known.update(zip(prompts, made_up, strict=True))
                self.before = tallies
                return

    def _compare(self, number: int, varied: set[Site], tallies: Tallies) -> bool:
        """Note which sites changed through site `number`; whether one got more rows."""
        more = False
        for site in {**self.before, **tallies}:
            old, new = _num_asking(self.before.get(site)), _num_asking(tallies.get(site))
            if site in varied or old == new:
                continue
            more |= new > old
            reached = self.found.setdefault(site, Reached(site, tallies.get(site) or self.before[site]))
            if number not in reached.depends_on:
                reached.depends_on.append(number)
            if new > _num_asking(reached.tally):
                reached.tally = tallies[site]
        return more


def _num_asking(tally: Tally | None) -> int:
    """Rows of a site that need an answer."""
    return 0 if tally is None else tally.counts.total() - tally.counts[None]


def _made_up(site: Site, prompts: list[str], makes_vectors: bool) -> Iterator[list[Any]]:
    """Lists of answers to a site's prompts, one list a rehearsal."""
    kind = Text() if isinstance(site, QuestionSite) else FUNCTIONS[site.function].answer_type(site.options)
    match kind:
        case YesNo():
            values: list[Any] = [True, False]
        case ChoiceAnswer():
            values = list(kind.choices[:MAX_CHOICES])
        case Number():
            values = [kind.hi, kind.lo]
        case ExpectedLevel():
            values = [len(kind.choices) - 1.0, 0.0]
        case Probability():
            values = [1.0, 0.0]
        case Vector() if makes_vectors:
            values = [MADE_UP]
        case Text():
            yield [f"{MARK}{i}" for i in range(len(prompts))]
            return
        case _:
            return
    for value in values:
        yield [value] * len(prompts)


def _rehearse(state: ConnectionState, run: StatementRun, rehearsal: Rehearsal) -> Tallies:
    with state.handled_by(Collecting(run)) as collected:
        for _ in rehearsal.batches():
            run.check_cancel()
    return collected.tallies
