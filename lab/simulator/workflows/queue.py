"""The steps that wait on one engine, in an order that may change with time, thousands of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count

from lab.simulator.workflows.order import OrderKey, StepOrder
from relserve.policies.workflows.types import QueuedStep


class StepQueue:
    """A heap of steps, and a second one of the times at which their keys change.

    Adding, taking and withdrawing a step cost the logarithm of their number.
    """

    def __init__(self, order: StepOrder) -> None:
        self._order = order
        self._sequence = count()
        self._heap: list[tuple[OrderKey, int]] = []
        self._changes: list[tuple[float, int]] = []
        self._steps: dict[int, tuple[OrderKey, QueuedStep]] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[QueuedStep]:
        """In the order in which they were added."""
        return (step for _, step in self._steps.values())

    def add(self, step: QueuedStep, now_s: float) -> int:
        """A step comes; gives a number by which it can be withdrawn."""
        number = next(self._sequence)
        self._enter(number, step, now_s)
        return number

    def withdraw(self, number: int) -> None:
        """A step is gone.

        Raises:
            KeyError: no such step waits.
        """
        del self._steps[number]

    def first(self, now_s: float) -> tuple[int, QueuedStep]:
        """The step to take next, with its number; it stays.

        Raises:
            IndexError: none waits.
        """
        self._renew(now_s)
        while True:
            key, number = self._heap[0]
            found = self._steps.get(number)
            if found is not None and found[0] == key:
                return number, found[1]
            heapq.heappop(self._heap)

    def _renew(self, now_s: float) -> None:
        """Give the steps whose keys have changed by now their new ones."""
        while self._changes and self._changes[0][0] < now_s:
            number = heapq.heappop(self._changes)[1]
            found = self._steps.get(number)
            if found is not None:
                self._enter(number, found[1], now_s)

    def _enter(self, number: int, step: QueuedStep, now_s: float) -> None:
        key = self._order(step, now_s)
        self._steps[number] = key, step
        heapq.heappush(self._heap, (key, number))
        if key.until_s < float("inf"):
            heapq.heappush(self._changes, (key.until_s, number))
