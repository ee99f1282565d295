"""relQueries in order of urgency, sorted only as far as somebody asks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = list[float] | Floats  # a list where there are few, else a vector
Slots = NDArray[np.intp]
Urgency = tuple[float, float, str]

FEW = 64  # up to so many are sooner done one by one in Python than at once in numpy
FIRST_CHUNK, GROWTH = 512, 4  # most steps look at few relQueries, of however many


class Ranked(Protocol):
    """What can be put in order."""

    rel_id: str
    arrival_s: float


R = TypeVar("R", bound=Ranked)


class RelQueryOrder(Generic[R]):
    """By priority value, then by arrival, then by id; iterating goes from the most urgent on.

    Good for as long as `rels` and `slot_of` stay as they are.

    Args:
        rels: a slot a relQuery.
        slot_of: the slot of each relQuery, by its id.
        values: priority values by slot, lower first; a vector where there are more than FEW.
        arrivals: times of arrival by slot, likewise.
    """

    def __init__(
        self,
        rels: Sequence[R] = (),
        slot_of: Mapping[str, int] | None = None,
        values: Numbers | None = None,
        arrivals: Numbers | None = None,
    ) -> None:
        self._rels, self._slot_of = rels, slot_of or {}
        self._values: Numbers = [] if values is None else values
        self._arrivals: Numbers = [] if arrivals is None else arrivals
        self._sorted: list[R] = []

    @cached_property
    def _rest(self) -> Slots:
        """The slots of those that are not sorted yet."""
        return np.arange(len(self._values))

    @classmethod
    def of(cls, rels: Sequence[R], values: Sequence[float]) -> RelQueryOrder[R]:
        """The order of some relQueries with these values."""
        slots = {rel.rel_id: slot for slot, rel in enumerate(rels)}
        arrivals = [rel.arrival_s for rel in rels]
        if len(rels) <= FEW:
            return cls(rels, slots, list(values), arrivals)
        return cls(rels, slots, np.array(values, dtype=float), np.array(arrivals, dtype=float))

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[R]:
        if len(self._values) > FEW:
            return self._chunk_by_chunk()
        if not self._sorted:
            ids = [rel.rel_id for rel in self._rels]
            near = sorted(zip(self._values, self._arrivals, ids, self._rels, strict=True))
            self._sorted = [rel for _, _, _, rel in near]
        return iter(self._sorted)

    def urgency(self, rel: R) -> Urgency:
        """What relQueries are compared by; lower is more urgent."""
        return float(self._values[self._slot_of[rel.rel_id]]), rel.arrival_s, rel.rel_id

    def sort(self, rels: Collection[R]) -> list[R]:
        """Some of them, most urgent first; many of one chunk are taken from all in order."""
        if len(self._values) <= FEW or FEW < len(rels) <= len(self._values) <= FIRST_CHUNK:
            wanted = {rel.rel_id for rel in rels}
            return [rel for rel in self if rel.rel_id in wanted]
        if len(rels) <= FEW:
            return sorted(rels, key=self.urgency)
        slots = [self._slot_of[rel.rel_id] for rel in rels]
        return self._many_in_order(np.array(slots, dtype=np.intp))

    def _chunk_by_chunk(self) -> Iterator[R]:
        number = 0
        while number < len(self._sorted) or self._sort_more():
            chunk = self._sorted[number:]
            yield from chunk
            number += len(chunk)

    def _sort_more(self) -> bool:
        """Sort the next relQueries; False when there are none."""
        if not len(self._rest):
            return False
        chosen = self._next(max(FIRST_CHUNK, GROWTH * len(self._sorted)))
        self._sorted += self._many_in_order(self._rest[chosen])
        self._rest = self._rest[~chosen]
        return True

    def _many_in_order(self, slots: Slots) -> list[R]:
        values, arrivals = np.asarray(self._values)[slots], np.asarray(self._arrivals)[slots]
        places = np.lexsort((arrivals, values))
        values, arrivals = values[places], arrivals[places]
        found = [self._rels[slot] for slot in slots[places].tolist()]
        if np.any((values[1:] == values[:-1]) & (arrivals[1:] == arrivals[:-1])):
            return sorted(found, key=self.urgency)  # where value and arrival are equal, ids decide
        return found

    def _next(self, count: int) -> NDArray[np.bool_]:
        """Which of the rest are the `count` most urgent; with those of equal value and arrival, more."""
        values = np.asarray(self._values)[self._rest]
        if len(values) <= count:
            return np.ones(len(values), dtype=bool)
        bound = np.partition(values, count - 1)[count - 1]
        chosen: NDArray[np.bool_] = values < bound
        tied = np.flatnonzero(values == bound)
        arrivals = np.asarray(self._arrivals)[self._rest[tied]]
        missing = count - int(np.count_nonzero(chosen))
        latest = np.partition(arrivals, missing - 1)[missing - 1]
        chosen[tied[arrivals <= latest]] = True
        return chosen
