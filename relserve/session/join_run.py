"""Answers the pairs of one round of a join: tries plans, the cheapest first, until one agrees with pairs.

A plan is tried on the pairs of a few rows. A sample of these is asked one by one, and if the verdicts agree,
the plan is asked about all other pairs, and sampled likewise. Whatever was asked as a pair has that answer in
the result. Where no plan agrees, all pairs are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relserve.call.answer_types import Answer, Grammar
from relserve.call.pair_lists import listed, read_pairs
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.errors import FailureKind
from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.variants import DEFAULT, make
from relserve.policies.joining.agreement import AgreementCheck, strata_of
from relserve.policies.joining.bicliques import Biclique, bicliques
from relserve.policies.joining.plans import JoinPlan, JoinSizes, plans, resized
from relserve.session.cascade_rows import CutShort, check_whole, failed_all, reached
from relserve.session.pair_table import PairTable

PILOT_ROWS = 32  # of the side that has more rows, on which a plan is tried
MOST_UNTOLD = 0.5  # of the pairs of a pilot; a plan whose prompts fail more often is dropped

AskPairs = Callable[[list[int]], list[Answer]]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_UNTOLD, _NO, _YES = -1, 0, 1
_LEAST_PARTED = 3  # pairs of a prompt that is asked in parts; smaller ones are left to be asked as pairs
_PARTED = (FailureKind.OVER_CONTEXT, FailureKind.UNPARSABLE)  # what a smaller prompt may mend

_AskLists = Callable[[list[tuple[str, Grammar]]], list[Answer]]


class JoinResult(NamedTuple):
    """What a round of a join gave.

    Attributes:
        answers: of each pair.
        told: how it was asked, and how well that agrees with pairs, in words.
        left: pairs that were not asked since others were cut short, and have the failure of these.
    """

    answers: list[Answer]
    told: str
    left: Sequence[int] = ()


def join_sizes(table: PairTable, question: str) -> JoinSizes:
    """What is known of a join before it is asked."""
    left, right = (sum(map(len, side)) / len(side) / CHARS_A_TOKEN for side in (table.lefts, table.rights))
    return JoinSizes(bicliques(table.pairs), left, right, len(question) / CHARS_A_TOKEN)


class JoinRun:
    """One round.

    Args:
        table: its pairs.
        ask_pairs: answers pairs by their numbers, one prompt each.
        ask_lists: answers prompts about many pairs.
        likeness: of the two rows of each pair, see `ranks`; called if it is needed.
        seed: the same gives the same prompts.
    """

    def __init__(
        self,
        table: PairTable,
        ask_pairs: AskPairs,
        ask_lists: _AskLists,
        likeness: Callable[[], FloatArray],
        seed: int,
    ) -> None:
        self._table, self._seed = table, seed
        self._ask_pairs, self._ask_lists, self._find_likeness = ask_pairs, ask_lists, likeness
        self._answers: dict[int, Answer] = {}  # of pairs that were asked one by one
        self._kept: dict[int, bool] = {}  # likewise
        self._all = np.arange(len(table.pairs))

    def result(self, strategy: str, sizes: JoinSizes, targets: Targets | None) -> JoinResult:
        """Ask until each pair has an answer.

        Args:
            strategy: of the option `join`.
            targets: that the result keeps to; None: what a sample tells is enough.
        """
        try:
            return self._whole(strategy, sizes, targets)
        except CutShort as cut:
            pairs = self._all.tolist()
            answers = [self._answers.get(pair) or Answer(None, failure=cut.failure) for pair in pairs]
            told = f"cut short: {cut}; {len(self._answers)} of {len(pairs)} pairs asked"
            return JoinResult(answers, told, [pair for pair in pairs if pair not in self._answers])

    def _whole(self, strategy: str, sizes: JoinSizes, targets: Targets | None) -> JoinResult:
        """As `result`; CutShort where a cap, a deadline or a batch keeps prompts from the model."""
        if targets is not None and strategy == "candidates":
            return self._kept_to(targets, self._likeness, "candidates")
        dropped = []
        for plan in plans(strategy, sizes):
            verdicts = _JoinVerdicts(self._table, self._ask_lists)
            stands, told = self._try(plan, verdicts, sizes)
            if stands:
                return self._finished(verdicts.of_pair, targets, told)
            dropped.append(told)
        self._ask(self._all.tolist())
        why = "; ".join(dropped) or f"{strategy} would take no fewer prompts"
        answers = [self._answers[pair] for pair in self._all.tolist()]
        return JoinResult(answers, f"pairs, all asked: {why}")

    def _ask(self, pairs: Sequence[int]) -> None:
        """Ask pairs one by one, once each."""
        todo = [pair for pair in pairs if pair not in self._answers]
        if todo:
            answers = self._ask_pairs(todo)
            for pair, answer in zip(todo, answers, strict=True):
                self._answers[pair], self._kept[pair] = answer, answer.value is True
            check_whole(answers)

    @cached_property
    def _likeness(self) -> FloatArray:
        return self._find_likeness()

    @cached_property
    def _pilot(self) -> IntArray:
        """The pairs of a few rows; all pairs where these are most of them."""
        table = self._table
        num_rows = max(len(table.lefts), len(table.rights))
        if num_rows <= 2 * PILOT_ROWS:
            return self._all
        rows = np.random.default_rng(self._seed).choice(num_rows, PILOT_ROWS, replace=False)
        return np.flatnonzero(np.isin(table.pairs[:, table.longer], rows))

    def _try(self, plan: JoinPlan, verdicts: _JoinVerdicts, sizes: JoinSizes) -> tuple[bool, str]:
        """Ask by a plan as long as its verdicts stand; whether they do, and what is told of them."""
        pilot = self._pilot
        self._tell(plan, pilot, verdicts)
        untold = float((verdicts.of_pair[pilot] == _UNTOLD).mean())
        if untold > MOST_UNTOLD:
            return False, f"{plan.told}: no answer about {untold:.0%} of its pairs"
        stands, told = self._compared(plan, pilot, verdicts)
        if not stands or len(pilot) == len(self._all):
            return stands, told
        share = float((verdicts.of_pair[pilot] == _YES).mean())
        plan = resized(plan, replace(sizes, match_share=share))
        self._tell(plan, np.setdiff1d(self._all, pilot), verdicts)
        return self._compared(plan, self._all, verdicts)

    def _tell(self, plan: JoinPlan, pairs: IntArray, verdicts: _JoinVerdicts) -> None:
        """Have these pairs get the verdicts of a plan."""
        if plan.name != "candidates":
            verdicts.ask(plan, pairs)
            return
        near = pairs[self._likeness[pairs] > 1 - plan.share].tolist()
        self._ask(near)
        verdicts.of_pair[pairs] = _NO
        verdicts.of_pair[near] = [self._kept[pair] for pair in near]

    def _compared(self, plan: JoinPlan, pairs: IntArray, verdicts: _JoinVerdicts) -> tuple[bool, str]:
        """Sample pairs that have verdicts; whether these stand, and how far they agree."""
        place = {pair: at for at, pair in enumerate(pairs.tolist())}
        known = {place[pair]: answer.value for pair, answer in self._answers.items() if pair in place}
        yes = verdicts.of_pair[pairs] == _YES
        strata = strata_of(yes, self._table.pairs[pairs, self._table.longer], self._likeness[pairs])
        check = AgreementCheck(yes, dict(known), strata, self._seed)
        while batch := check.pairs_to_ask(known):
            self._ask(pairs[batch].tolist())
            known.update((at, self._answers[int(pairs[at])].value) for at in batch)
        return check.stands(known), f"{plan.told}: {check.outcome(known).told}"

    def _finished(self, verdicts: npt.NDArray[np.int8], targets: Targets | None, told: str) -> JoinResult:
        """The answers once a plan has told its verdicts; pairs without one are asked."""
        self._ask(np.flatnonzero(verdicts == _UNTOLD).tolist())
        if targets is None:
            return self._answered(verdicts == _YES, told)
        return self._kept_to(targets, np.where(verdicts == _YES, 0.9, 0.0) + 0.1 * self._likeness, told)

    def _kept_to(self, targets: Targets, scores: FloatArray, told: str) -> JoinResult:
        """Ask pairs until the result keeps to the targets, whatever the scores are worth."""
        scores = scores.copy()
        scores[list(self._kept)] = np.nan  # the plan was chosen by these
        cascade = make(DEFAULT, targets, self._seed)
        while batch := cascade.rows_to_ask(scores, self._kept):
            self._ask(batch)
        found = cascade.outcome(scores, self._kept)
        return self._answered(found.kept, f"{told}; {reached(found, targets)}")

    def _answered(self, kept: npt.NDArray[np.bool_], told: str) -> JoinResult:
        """What was asked has its answer, every other pair that of the plan."""
        failed = failed_all(self._answers.values())
        answers = [
            self._answers.get(pair) or failed or Answer(is_kept) for pair, is_kept in enumerate(kept.tolist())
        ]
        return JoinResult(answers, f"{told}; {len(self._answers)} of {len(self._all)} pairs asked")


class _JoinVerdicts:
    """The verdicts of one plan.

    Args:
        ask_lists: answers prompts of `listed`.

    Attributes:
        of_pair: _YES, _NO or _UNTOLD for each pair.
    """

    def __init__(self, table: PairTable, ask_lists: _AskLists) -> None:
        self._table, self._ask_lists = table, ask_lists
        self.of_pair = np.full(len(table.pairs), _UNTOLD, np.int8)

    def ask(self, plan: JoinPlan, pairs: IntArray) -> None:
        """Ask about these pairs in blocks of the plan's size.

        A block that is too long, or has too long an answer, is asked in halves.

        Raises:
            CutShort: a prompt was.
        """
        groups = bicliques(self._table.pairs[pairs])
        tiles = [tile for group in groups for tile in group.tiles(plan.num_lefts, plan.num_rights)]
        while tiles:
            tiles = list(self._ask_tiles(tiles))

    def _ask_tiles(self, tiles: Sequence[Biclique]) -> Iterable[Biclique]:
        """Ask blocks; gives the halves of those that are to be asked again."""
        lefts, rights = self._table.lefts, self._table.rights
        lists = [
            listed([lefts[row] for row in tile.lefts], [rights[row] for row in tile.rights]) for tile in tiles
        ]
        answers = self._ask_lists(lists)
        check_whole(answers)
        for tile, (_, grammar), answer in zip(tiles, lists, answers, strict=True):
            found = None if answer.failure else read_pairs(answer.value, grammar)
            if found is not None:
                self._put(tile, found)
            elif tile.num_pairs >= _LEAST_PARTED and answer.failure and answer.failure.kind in _PARTED:
                yield from tile.halves()

    def _put(self, tile: Biclique, found: Sequence[tuple[int, int]]) -> None:
        """Yes for what was found in a block, no for its other pairs."""
        lefts, rights = np.array(tile.lefts), np.array(tile.rights)
        self.of_pair[self._numbers(*np.meshgrid(lefts, rights))] = _NO
        if found:
            left, right = np.array(found).T
            self.of_pair[self._numbers(lefts[left], rights[right])] = _YES

    @cached_property
    def _codes(self) -> tuple[IntArray, IntArray]:
        """A number for the two rows of each pair, in order, and the pairs in that order."""
        codes = self._table.pairs[:, 0] * len(self._table.rights) + self._table.pairs[:, 1]
        order = np.argsort(codes)
        return codes[order], order

    def _numbers(self, lefts: IntArray, rights: IntArray) -> IntArray:
        """The numbers of the pairs of these rows."""
        codes, order = self._codes
        found: IntArray = order[np.searchsorted(codes, (lefts * len(self._table.rights) + rights).ravel())]
        return found
