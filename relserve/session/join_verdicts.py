"""What prompts about many pairs say of the pairs of a join."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from relserve.call.answer_types import Answer, Grammar
from relserve.call.pair_lists import listed, read_pairs
from relserve.errors import FailureKind
from relserve.policies.joining.bicliques import Biclique, bicliques
from relserve.policies.joining.plans import JoinPlan
from relserve.session.cascade_rows import check_whole
from relserve.session.pair_table import PairTable

UNTOLD, NO, YES = -1, 0, 1
LEAST_PARTED = 3  # pairs of a prompt that is asked in parts; smaller ones are left to be asked as pairs
_PARTED = (FailureKind.OVER_CONTEXT, FailureKind.UNPARSABLE)  # what a smaller prompt may mend

AskLists = Callable[[list[tuple[str, Grammar]]], list[Answer]]
IntArray = npt.NDArray[np.int64]


class JoinVerdicts:
    """The verdicts of one plan.

    Args:
        ask_lists: answers prompts of `listed`.

    Attributes:
        of_pair: YES, NO or UNTOLD for each pair.
    """

    def __init__(self, table: PairTable, ask_lists: AskLists) -> None:
        self._table, self._ask_lists = table, ask_lists
        self.of_pair = np.full(len(table.pairs), UNTOLD, np.int8)

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
            elif tile.num_pairs >= LEAST_PARTED and answer.failure and answer.failure.kind in _PARTED:
                yield from tile.halves()

    def _put(self, tile: Biclique, found: Sequence[tuple[int, int]]) -> None:
        """Yes for what was found in a block, no for its other pairs."""
        lefts, rights = np.array(tile.lefts), np.array(tile.rights)
        self.of_pair[self._numbers(*np.meshgrid(lefts, rights))] = NO
        if found:
            left, right = np.array(found).T
            self.of_pair[self._numbers(lefts[left], rights[right])] = YES

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
