"""Lengths of outputs, counted in bins: how many rows ended in each, and the table that follows from it."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT, A_DOUBLING, LONGEST = 16, 8, 1 << 20  # bins of one token up to 16, then 8 a doubling
GUESS_TOKENS, GUESS_SHAPE = 100.0, 3.0  # of a Lomax distribution: 26 tokens in the median, 50 on average
RARE = 1e-3  # rows are none
TABLE = 4096  # tokens up to which is tabulated what is left


def _edges() -> list[int]:
    edges = list(range(EXACT + 1))
    while edges[-1] < LONGEST:
        edges.append(max(edges[-1] + 1, round(edges[-1] * 2 ** (1 / A_DOUBLING))))
    return edges


EDGES = _edges()  # bin b holds the lengths above EDGES[b], up to EDGES[b + 1]
_STARTS, _WIDTHS = np.array(EDGES[:-1], dtype=float), np.diff(np.array(EDGES, dtype=float))
_NUM_BINS = len(_WIDTHS)
_GIVEN = np.arange(TABLE, dtype=float)
_BEFORE = np.searchsorted(_STARTS, _GIVEN, "right") - 1  # the bin that a number of tokens given lies in,
_PART = (_GIVEN - _STARTS[_BEFORE]) / _WIDTHS[_BEFORE]  # and how far
# Hazards where nothing was ever seen.
GUESS: Floats = 1.0 - ((_STARTS + GUESS_TOKENS) / (_STARTS + _WIDTHS + GUESS_TOKENS)) ** GUESS_SHAPE
_BIN_OF = [0, *(bisect_left(EDGES, tokens) - 1 for tokens in range(1, TABLE + 1))]


def bin_of(tokens: int) -> int:
    """The bin of a length."""
    return _BIN_OF[tokens] if tokens <= TABLE else min(bisect_left(EDGES, tokens), _NUM_BINS) - 1


class LengthCounts:
    """How many rows ended in each bin of lengths, were cut short in it, and are in it now.

    Args:
        memory: of about so many rows is remembered how they ended; what came before fades.
    """

    def __init__(self, memory: float) -> None:
        self.num_ended = 0
        self.ends, self.cuts, self.alive = np.zeros((3, _NUM_BINS))
        self._fade, self._weight = 1.0 - 1.0 / memory, 1.0  # weighing new ones more spares fading the old

    def add(self, place: int, is_whole: bool, weight: float = 1.0) -> None:
        """A row ended, or was cut short."""
        self.num_ended += 1
        self._weight /= self._fade
        (self.ends if is_whole else self.cuts)[place] += weight * self._weight
        if self._weight > 1e9:
            self.ends /= self._weight
            self.cuts /= self._weight
            self._weight = 1.0

    @property
    def longest(self) -> int:
        """The longest output that is remembered, of rows that ended or go on; 0 where there is none."""
        rows = (self.ends + self.cuts) / self._weight + self.alive if self.num_ended else self.alive
        places = (rows > RARE).nonzero()[0]
        return EDGES[int(places[-1]) + 1] if len(places) else 0

    def hazards(self, prior: Floats, num_rows: float) -> Floats:
        """In each bin, the share that ends of the rows that get there, a prior counting as so many rows."""
        if not self.num_ended:  # as of most relQueries of a row
            reached = self.alive[::-1].cumsum()[::-1] - self.alive / 2
            none_ended: Floats = num_rows * prior / (reached + num_rows)
            return none_ended
        ends, goes_on = self.ends / self._weight, self.cuts / self._weight + self.alive
        reached = (ends + goes_on)[::-1].cumsum()[::-1] - goes_on / 2
        found: Floats = (ends + num_rows * prior) / (reached + num_rows)
        return found

    def snapshot(self) -> LengthCounts:
        """How rows ended until now, for a thread that reads it while further ones end."""
        found = copy.copy(self)
        found.ends, found.cuts, found.alive = self.ends.copy(), self.cuts.copy(), self.alive.copy()
        return found

    def as_dict(self) -> dict[str, dict[str, float]]:
        """How many ended and were cut short, by bin."""
        parts = {"ends": self.ends / self._weight, "cuts": self.cuts / self._weight}
        return {
            name: {str(EDGES[b + 1]): round(float(rows[b]), 3) for b in np.flatnonzero(rows > 5e-4).tolist()}
            for name, rows in parts.items()
        }

    def load(self, parts: Mapping[str, Mapping[str, float]]) -> None:
        """Take what `as_dict` gave.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: it is something else.
        """
        for name, rows in (("ends", self.ends), ("cuts", self.cuts)):
            for tokens, count in parts[name].items():
                if not 0.0 <= float(count) < 1e6:
                    raise ValueError(f"{count} rows")
                rows[bin_of(min(max(int(tokens), 1), LONGEST))] += float(count)
        total = self.ends.sum() + self.cuts.sum()
        self.num_ended = max(int(total), int(total > 0))


class LengthTable(NamedTuple):
    """A distribution of lengths up to a limit, as schedulers ask for it.

    Attributes:
        ends: share of the rows that have ended by each edge of the bins.
        row, expected_left, seen: see `RelLengths`.
    """

    ends: Sequence[float]
    row: float
    expected_left: Sequence[float]
    seen: float

    @classmethod
    def of(cls, hazards: Floats, limit: int, seen: int) -> LengthTable:
        """From hazards to the share that has ended by each edge, and the mean of what is left."""
        widths, less_one, twice = _widths(limit)
        num_bins = len(widths)
        alive = np.ones(num_bins + 1)
        (1.0 - hazards[:num_bins]).cumprod(out=alive[1:])
        np.maximum(alive, 1e-9, out=alive)
        starts, ended = alive[:-1], 1.0 - alive
        # A row gives its k-th token if it did not end before; inside a bin rows end evenly.
        tokens = widths * (starts - (starts - alive[1:]) * less_one / twice)
        remaining = np.empty(num_bins + 1)
        remaining[:-1] = tokens[::-1].cumsum()[::-1] / starts
        remaining[-1] = remaining[-2]
        before = _BEFORE[:limit]
        by_given = remaining[before]
        by_given += _PART[:limit] * (remaining[before + 1] - by_given)
        np.maximum(by_given, 1.0, out=by_given)
        return cls(ended.tolist(), float(remaining[0]), by_given.tolist(), float(min(seen, limit)))


@lru_cache(maxsize=64)
def _widths(limit: int) -> tuple[Floats, Floats, Floats]:
    """Of the bins up to a limit: their widths, these less one, and twice these."""
    num_bins = bin_of(limit) + 1
    widths = _WIDTHS[:num_bins].copy()
    widths[-1] = limit - EDGES[num_bins - 1]
    return widths, widths - 1, 2 * widths
