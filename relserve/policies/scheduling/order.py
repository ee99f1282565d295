"""relQueries in order of urgency, sorted only as far as somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]
Urgency = tuple[float, float, str]

FEW = 64  # up to so many are sorted sooner in Python than in numpy
FIRST_CHUNK, GROWTH = 512, 4  # most steps look at few relQueries, of however many


class Ranked(Protocol):
    """What can be put in order."""

    rel_id: str
    arrival_s: float


R = TypeVar("R", bound=Ranked)


class Order(Generic[R]):
    """By priority value, then by arrival, then by id; iterating goes from the most urgent on.

    Args:
        rels: a slot a relQuery; None where a slot is empty.
        slot_of: the slot of each relQuery, by its id.
        values: priority values by slot, lower first; NaN in empty slots.
        arrivals: times of arrival by slot.
    """

    def __init__(
        self,
        rels: Sequence[R | None] = (),
        slot_of: Mapping[str, int] | None = None,
        values: Floats | None = None,
        arrivals: Floats | None = None,
    ) -> None:
        self._rels, self._slot_of = rels, slot_of or {}
        self._values = np.empty(0) if values is None else values
        self._arrivals = np.empty(0) if arrivals is None else arrivals
        self._sorted: list[R] = []

    @cached_property
    def _rest(self) -> Slots:
        """The slots of those that are not sorted yet."""
        return np.flatnonzero(~np.isnan(self._values))

    @classmethod
    def of(cls, rels: Sequence[R], values: Sequence[float]) -> Order[R]:
        """The order of a few relQueries with these values."""
        slots = {rel.rel_id: slot for slot, rel in enumerate(rels)}
        arrivals = np.array([rel.arrival_s for rel in rels], dtype=float)
        return cls(rels, slots, np.array(values, dtype=float), arrivals)

    def __len__(self) -> int:
        return len(self._sorted) + len(self._rest)

    def __iter__(self) -> Iterator[R]:
        number = 0
        while number < len(self._sorted) or self._sort_more():
            yield self._sorted[number]
            number += 1

    def urgency(self, rel: R) -> Urgency:
        """What relQueries are compared by; lower is more urgent."""
        return float(self._values[self._slot_of[rel.rel_id]]), rel.arrival_s, rel.rel_id

    def sort(self, rels: Iterable[R]) -> list[R]:
        """Some of them, most urgent first."""
        return self._in_order([self._slot_of[rel.rel_id] for rel in rels])

    def _sort_more(self) -> bool:
        """Sort the next relQueries; False when there are none."""
        if not len(self._rest):
            return False
        chosen = self._next(max(FIRST_CHUNK, GROWTH * len(self._sorted)))
        self._sorted += self._in_order(self._rest[chosen])
        self._rest = self._rest[~chosen]
        return True

    def _in_order(self, slots: Slots | list[int]) -> list[R]:
        if len(slots) <= FEW:
            return self._few_in_order(slots)
        values, arrivals = self._values[slots], self._arrivals[slots]
        places = np.lexsort((arrivals, values))
        values, arrivals = values[places], arrivals[places]
        found = [rel for slot in np.asarray(slots)[places].tolist() if (rel := self._rels[slot]) is not None]
        if np.any((values[1:] == values[:-1]) & (arrivals[1:] == arrivals[:-1])):
            return sorted(found, key=self.urgency)  # where value and arrival are equal, ids decide
        return found

    def _few_in_order(self, slots: Slots | list[int]) -> list[R]:
        rels = [self._rels[slot] for slot in (slots if isinstance(slots, list) else slots.tolist())]
        pairs = zip(self._values[slots].tolist(), rels, strict=True)
        near = [(value, rel.arrival_s, rel.rel_id, rel) for value, rel in pairs if rel is not None]
        return [rel for _, _, _, rel in sorted(near, key=itemgetter(0, 1, 2))]

    def _next(self, count: int) -> NDArray[np.bool_]:
        """Which of the rest are the `count` most urgent; with those of equal value and arrival, more."""
        values = self._values[self._rest]
        if len(values) <= count:
            return np.ones(len(values), dtype=bool)
        bound = np.partition(values, count - 1)[count - 1]
        chosen: NDArray[np.bool_] = values < bound
        tied = np.flatnonzero(values == bound)
        arrivals = self._arrivals[self._rest[tied]]
        missing = count - int(np.count_nonzero(chosen))
        latest = np.partition(arrivals, missing - 1)[missing - 1]
        chosen[tied[arrivals <= latest]] = True
        return chosen
