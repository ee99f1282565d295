"""Means by key that follow what changes: lengths of answers by kind, by user, or by a workflow's stage.

Where one number for each answer to come is enough, a mean of the latest answers does; who has to know how
much longer an answer may get, having come so far, asks `lengths.LengthLearner`.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

MOST_KEYS = 1024


class RecentMean(NamedTuple):
    """A mean of `num` values; of more than a memory the older count ever less."""

    value: float = 0.0
    num: int = 0

    def with_value(self, value: float, memory: float = inf) -> RecentMean:
        """The mean with one more."""
        if not self.num:
            return RecentMean(value, 1)
        weight = max(1.0 / (self.num + 1), 1.0 / memory)
        return RecentMean(self.value + weight * (value - self.value), self.num + 1)


UNKNOWN = RecentMean()


class KeyedMeans:
    """A mean for each key, and one of all; the key that had no value for longest is forgotten.

    Args:
        memory: so many of the latest values make up a mean, about.
        like_all: a key's first values are averaged with the mean of all before, which counts as so many.
        prior: the mean of all before the first value.
        most: keys that are remembered.
    """

    def __init__(
        self, memory: float, like_all: int = 0, prior: RecentMean = UNKNOWN, most: int = MOST_KEYS
    ) -> None:
        self._memory, self._like_all, self._most = memory, like_all, most
        self._all = prior
        self._means: dict[str, RecentMean] = {}  # the key that had a value last comes last

    def __len__(self) -> int:
        return len(self._means)

    def of(self, key: str) -> float | None:
        """The mean of a key, of all where the key is new; None: nothing is known."""
        found = self._means.get(key, self._all)
        return found.value if found.num else None

    def add(self, key: str, value: float) -> None:
        """Take one more value."""
        first = self._all._replace(num=min(self._all.num, self._like_all))
        self._means[key] = self._means.pop(key, first).with_value(value, self._memory)
        self._all = self._all.with_value(value, self._memory)
        if len(self._means) > self._most:
            del self._means[next(iter(self._means))]
