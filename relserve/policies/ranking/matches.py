"""Pairs of items that were compared, and the order that they give."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from itertools import combinations

Pair = tuple[int, int]
Course = Generator[list[Pair], Sequence[bool], list[int]]
"""Gives the pairs to compare next, is sent whether the first of each comes before the second, returns the
order. Pairs of one batch are compared at once."""


class Matches:
    """What is known of pairs. Items are numbers; a pair is compared once, in whichever order."""

    def __init__(self) -> None:
        self._won: dict[Pair, bool] = {}

    def missing(self, items: Sequence[int]) -> list[Pair]:
        """The pairs of these items that were not compared; each item is the first in about half of them."""
        numbered = combinations(enumerate(items), 2)
        pairs = [(a, b) if (i + j) % 2 else (b, a) for (i, a), (j, b) in numbered]
        return [pair for pair in pairs if pair not in self._won and pair[::-1] not in self._won]

    def add(self, pairs: Iterable[Pair], won: Iterable[bool]) -> None:
        """Note whether the first of each pair comes before the second."""
        self._won.update(zip(pairs, won, strict=True))

    def is_before(self, a: int, b: int) -> bool:
        """Whether a comes before b, which were compared."""
        return self._won[a, b] if (a, b) in self._won else not self._won[b, a]

    def order(self, items: Sequence[int]) -> list[int]:
        """Items that were all compared, by how many of the others they come before (Copeland's order).

        Where comparisons contradict each other, as in a cycle, some items come before as many. Those are
        ordered by the comparisons among themselves, and where that tells nothing either, by their numbers.
        """
        wins = self._wins(items)
        among = {count: self._wins([a for a in items if wins[a] == count]) for count in set(wins.values())}
        return sorted(items, key=lambda a: (-wins[a], -among[wins[a]][a], a))

    def _wins(self, items: Sequence[int]) -> dict[int, int]:
        wins = dict.fromkeys(items, 0)
        for a, b in combinations(items, 2):
            wins[a if self.is_before(a, b) else b] += 1
        return wins


def all_pairs(items: Sequence[int], matches: Matches) -> Course:
    """Compare each item with each other one, in one batch."""
    pairs = matches.missing(items)
    if pairs:
        matches.add(pairs, (yield pairs))
    return matches.order(items)
