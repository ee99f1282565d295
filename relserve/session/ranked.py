"""llm_rank: the values of a group in order, by asking about pairs of them.

Which pairs are asked is a policy; see `relserve.policies.ranking`. The pairs that all groups of a call want
next are one round of the same relQuery.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from relserve.call.answer_types import Answer
from relserve.call.relquery import RelQuery
from relserve.policies.ranking.matches import Pair
from relserve.policies.ranking.variants import ranking
from relserve.session.aggregate import numbered
from relserve.session.in_rounds import RelQueryInRounds
from relserve.session.progress import Progress
from relserve.session.result import Result

FIRST = "1"  # the answer that says that the first of a pair comes before the second


def rank_groups(relquery: RelQuery, opened: RelQueryInRounds, progress: Progress | None = None) -> Result:
    """Put the values of groups in order.

    On record, the relQuery's rows are the pairs that were asked, and a row for each group without values.

    Args:
        relquery: its rows hold one sequence of texts each, or None for a group without values.
        opened: asks the rounds; its rows hold one text each.
        progress: see `OpenRelQuery.ask`.

    Returns:
        For each group its first k values as a JSON list; a group of which a pair failed has that failure.

    Raises: as `OpenRelQuery.ask`.
    """
    k = relquery.options.k
    groups = [None if texts is None else _RankedGroup(texts, k) for (texts,) in relquery.rows]
    rows: list[tuple[str | None]] = [(None,) for group in groups if group is None]
    while True:
        todo = [(group, pair) for group in groups if group is not None for pair in group.pairs]
        if not todo and not rows:
            return Result([Answer(None) if group is None else group.answer for group in groups])
        rows = [*((group.prompt_of(pair),) for group, pair in todo), *rows]
        answers = opened.ask(rows, progress=progress)
        _tell([group for group in groups if group is not None], answers)
        rows = []


def likely_pairs(relquery: RelQuery) -> RelQuery:
    """The pairs that will be asked, as rows: those of values in the order of their texts, about as many."""
    rows: list[tuple[str | None]] = []
    for (texts,) in relquery.rows:
        group = None if texts is None else _RankedGroup(texts, relquery.options.k)
        rows += [(None,)] if group is None else [(prompt,) for prompt in group.likely_prompts()]
    return replace(relquery, rows=rows, multiplicity=None)


def _tell(groups: Sequence[_RankedGroup], answers: Sequence[Answer]) -> None:
    at = 0
    for group in groups:
        num_pairs = len(group.pairs)
        group.go_on(answers[at : at + num_pairs])
        at += num_pairs


class _RankedGroup:
    """A group on its way to an order.

    Attributes:
        pairs: to be asked next; none once it has its answer.
        answer: the order, or the failure of a pair.
    """

    def __init__(self, texts: Sequence[str], k: int | None) -> None:
        self._texts = list(dict.fromkeys(texts))  # equal ones have one place
        num_items = len(self._texts)
        self._course = ranking(num_items, min(k or num_items, num_items))
        self.pairs: list[Pair] = []
        self.answer = Answer(None)
        self._advance(None)

    def prompt_of(self, pair: Pair) -> str:
        """The two values as they stand in a prompt."""
        return numbered(self._texts[item] for item in pair)

    def likely_prompts(self) -> Iterator[str]:
        """Those of a course in which the values are in order already; ends it."""
        while self.pairs:
            yield from map(self.prompt_of, self.pairs)
            self._advance([first < second for first, second in self.pairs])

    def go_on(self, answers: Sequence[Answer]) -> None:
        """Take the answers about its pairs; nothing is guessed where one failed."""
        failed = next((answer for answer in answers if answer.failure is not None), None)
        if failed is not None:
            self.pairs, self.answer = [], failed
        elif answers:
            self._advance([answer.value == FIRST for answer in answers])

    def _advance(self, won: Sequence[bool] | None) -> None:
        try:
            self.pairs = next(self._course) if won is None else self._course.send(won)
        except StopIteration as end:
            self.pairs = []
            ordered = [self._texts[item] for item in end.value]
            self.answer = Answer(json.dumps(ordered, ensure_ascii=False))
