"""The pairs of a join as groups in which each left row is paired with each right row.

A cross product is one group; a join that also has an equality is a group for each key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PairArray = npt.NDArray[np.int64]  # [pairs, 2]: the numbers of the left and the right row


class Biclique(NamedTuple):
    """Every pair of a left and a right row of these."""

    lefts: tuple[int, ...]
    rights: tuple[int, ...]

    @property
    def num_pairs(self) -> int:
        return len(self.lefts) * len(self.rights)

    def halves(self) -> tuple[Biclique, Biclique]:
        """The pairs in two parts, divided along the longer side; of one pair the second part is empty."""
        if len(self.lefts) > len(self.rights):
            middle = len(self.lefts) // 2
            return self._replace(lefts=self.lefts[:middle]), self._replace(lefts=self.lefts[middle:])
        middle = (len(self.rights) + 1) // 2
        return self._replace(rights=self.rights[:middle]), self._replace(rights=self.rights[middle:])

    def tiles(self, num_lefts: int, num_rights: int) -> Iterator[Biclique]:
        """The pairs in parts of at most so many rows of each side, all parts of about one size."""
        for lefts in _parts(self.lefts, num_lefts):
            for rights in _parts(self.rights, num_rights):
                yield Biclique(lefts, rights)


def bicliques(pairs: PairArray) -> list[Biclique]:
    """Groups that have each pair once: rows of one side that are paired with the same rows go together.

    Args:
        pairs: distinct.
    """
    by_left = [Biclique(lefts, rights) for lefts, rights in _alike(pairs)]
    by_right = [Biclique(lefts, rights) for rights, lefts in _alike(pairs[:, ::-1])]
    return min(by_left, by_right, key=len)


def _alike(pairs: PairArray) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Rows of the first side with the same partners, and these partners."""
    if not len(pairs):
        return
    ordered = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    rows, starts = np.unique(ordered[:, 0], return_index=True)
    groups: dict[bytes, list[int]] = defaultdict(list)
    for row, partners in zip(rows.tolist(), np.split(ordered[:, 1], starts[1:]), strict=True):
        groups[partners.tobytes()].append(row)
    for partners_, alike in groups.items():
        yield tuple(alike), tuple(np.frombuffer(partners_, np.int64).tolist())


def _parts(rows: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    for part in np.array_split(np.array(rows, np.int64), max(1, -(-len(rows) // most))):
        yield tuple(part.tolist())
