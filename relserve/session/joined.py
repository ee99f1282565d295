"""A filter over pairs of rows of which few are asked one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from relserve.call.answer_types import Answer, Grammar
from relserve.call.options import parse_options
from relserve.call.pair_lists import pair_list_site
from relserve.call.relquery import CallSite
from relserve.call.template import Template
from relserve.errors import Failure, ModelError, OptionError
from relserve.machine.word_vectors import find_files
from relserve.policies.joining.likeness import Vectors, normal, ranks, word_vectors
from relserve.session.caps import SpendingCap
from relserve.session.cascade_learnt import vectors_of
from relserve.session.cascade_rows import targets_of
from relserve.session.folding import FoldedRows, fold_rows
from relserve.session.in_rounds import NULL, HowAsked, RelQueryInRounds
from relserve.session.join_run import JoinRun, join_sizes
from relserve.session.pair_table import PairTable, pair_table

Open = Callable[[CallSite], RelQueryInRounds]


def pairs_site(site: CallSite) -> CallSite:
    """The call as each pair is asked; a cascade keeps its targets."""
    options = replace(site.options, join="pairs")
    if options.cascade is None:
        options = replace(options, precision=None, recall=None, confidence=None)
    return replace(site, options=options)


class JoinedRelQuery(RelQueryInRounds):
    """A relQuery whose rows are pairs; its record and caps are those of the pairs.

    Each round is a join of its own. Pairs that are asked one by one are asked, recorded and kept as without
    the option. Prompts about many pairs are a second relQuery. Pairs that were not asked are on no record,
    unless prompts were cut short: then they have failed.

    Args:
        site: the call, with its option `join`.
        pairs: the relQuery of `pairs_site`.
        reopen: begins a further relQuery of the same statement.
    """

    def __init__(self, site: CallSite, pairs: RelQueryInRounds, reopen: Open) -> None:
        self.site, self._pairs, self._reopen = site, pairs, reopen
        self._lists: dict[CallSite, RelQueryInRounds] = {}
        self.record = pairs.record

    @property
    def caps(self) -> Sequence[SpendingCap]:
        return self._pairs.caps

    @caps.setter
    def caps(self, caps: Sequence[SpendingCap]) -> None:
        self._pairs.caps = caps

    def ask_folded(
        self, folded: FoldedRows, inputs: Sequence[Sequence[Any]], **how: Unpack[HowAsked]
    ) -> list[Answer]:
        """As `RelQueryInRounds.ask_folded`; whatever is enough, all pairs of the round get an answer."""
        order, progress = folded.order, how.get("progress")
        first = {number: row for row, number in reversed(list(enumerate(folded.prompt_of_row)))}
        table = pair_table(self.site.binding.used, [inputs[first[number]] for number in order])
        if isinstance(table, str):
            self.record.join_plan = f"{self.record.rel_id}: pairs, all asked: {table}"
            return self._pairs.ask_folded(folded, inputs, progress=progress)
        run = JoinRun(
            table,
            lambda pairs: self._pairs.ask_folded(
                folded.part([order[pair] for pair in pairs]), inputs, progress=progress
            ),
            partial(self._ask_lists, table),
            lambda: ranks(table.pairs, *self._vectors(table)),
            folded.seed,
        )
        options = self.site.options
        targets = None
        if options.cascade is None and (options.precision or options.recall or options.confidence):
            targets = targets_of(options)
        try:
            result = run.result(options.join, join_sizes(table, self.site.binding.template.text), targets)
            if result.left and (failure := result.answers[result.left[0]].failure):
                self.leave(folded.part([order[pair] for pair in result.left]), failure)
        except BaseException as error:
            self.close(error)  # also the record of pairs that were not asked
            raise
        for each in (self, *self._lists.values()):
            each.record.join_plan = f"{self.record.rel_id}: {result.told}"
        answers = [NULL] * len(order)
        for at, number in enumerate(order):
            answers[number] = result.answers[at]
        return answers

    def leave(self, folded: FoldedRows, failure: Failure) -> None:
        self._pairs.leave(folded, failure)

    def close(self, error: BaseException | None = None) -> None:
        for each in self._lists.values():
            each.close(error)
        self._pairs.close(error)

    def _ask_lists(self, table: PairTable, lists: list[tuple[str, Grammar]]) -> list[Answer]:
        """The answers to prompts about many pairs."""
        site = pair_list_site(self.site, table.left_slots, table.right_slots)
        if site not in self._lists:
            self._lists[site] = self._reopen(site)
            self._lists[site].caps = self.caps
        rows = [(text,) for text, _ in lists]
        folded = fold_rows(site.prompts(rows), grammars=[grammar for _, grammar in lists])
        answers = self._lists[site].ask_folded(folded._replace(asks_again=True), rows)
        return folded.spread(answers, NULL)

    def _vectors(self, table: PairTable) -> tuple[Vectors, Vectors]:
        """Of both sides' rows: those of llm_embed where its own model is installed, else of shared words."""
        texts = [*table.lefts, *table.rights]
        try:
            find_files()
            vectors = self._embedded(texts)
        except (ModelError, OptionError):  # not installed, or without the price that a cap on money needs
            vectors = word_vectors(texts)
        return vectors[: len(table.lefts)], vectors[len(table.lefts) :]

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        site = CallSite("llm_embed", Template.parse("{}").bind(1), parse_options("llm_embed", {}))
        with self._reopen(site) as opened:
            told = opened.ask([(text,) for text in texts])
        return normal(np.nan_to_num(vectors_of(told)))
