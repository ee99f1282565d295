"""The pairs of a join as two lists of rows, found from the values of its prompts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from relserve.call.pair_lists import side_text
from relserve.policies.joining.bicliques import PairArray

LEAST_PAIRS = 200  # fewer are asked as they are: to check other answers would take as many prompts
MOST_DIVIDED = 4  # values that are divided in every way


class PairTable(NamedTuple):
    """The prompts of a join, each a pair of rows.

    Attributes:
        lefts, rights: the text of each row, in the order of the texts.
        pairs: for each prompt the numbers of its rows, [prompts, 2].
        left_slots, right_slots: of the values of each side.
    """

    lefts: list[str]
    rights: list[str]
    pairs: PairArray
    left_slots: tuple[int, ...]
    right_slots: tuple[int, ...]

    @property
    def longer(self) -> int:
        """The side that has more rows: 0 for the left one."""
        return int(len(self.rights) > len(self.lefts))


def pair_table(used: Sequence[int], inputs: Sequence[Sequence[Any]]) -> PairTable | str:
    """The pairs of prompts with these values; or why they are none of a join.

    Where the template uses more than two values, they are divided so that rows of the two sides make the
    fewest pairs, which are those that are there. Of many values those of a side have to follow each other.

    Args:
        used: the slots of values that the template uses, see `BoundTemplate.used`.
    """
    if len(used) < 2:
        return "its template has a single value"
    if len(inputs) < LEAST_PAIRS:
        return f"there are only {len(inputs)} pairs"
    found = [_divided(used, lefts, inputs) for lefts in _divisions(used)]
    best = min(found, key=lambda table: len(table.lefts) * len(table.rights))
    if min(len(best.lefts), len(best.rights)) < 2:
        return "one side has a single row"
    return best


def _divisions(used: Sequence[int]) -> list[tuple[int, ...]]:
    """What may be the left side's values, the first one among them."""
    if len(used) > MOST_DIVIDED:
        return [tuple(used[:num]) for num in range(1, len(used))]
    rest = used[1:]
    return [(used[0], *more) for num in range(len(rest)) for more in combinations(rest, num)]


def _divided(used: Sequence[int], lefts: tuple[int, ...], inputs: Sequence[Sequence[Any]]) -> PairTable:
    rights = tuple(slot for slot in used if slot not in lefts)
    left_texts, left_of = _numbered([side_text([row[slot] for slot in lefts]) for row in inputs])
    right_texts, right_of = _numbered([side_text([row[slot] for slot in rights]) for row in inputs])
    return PairTable(left_texts, right_texts, np.array([left_of, right_of], np.int64).T, lefts, rights)


def _numbered(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The distinct texts in order, and the number of each text among them."""
    distinct = sorted(set(texts))
    number_of = {text: number for number, text in enumerate(distinct)}
    return distinct, [number_of[text] for text in texts]
