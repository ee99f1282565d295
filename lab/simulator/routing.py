"""Which of several engines a relQuery goes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lab.simulator.workload import RelSpec


class EngineLoad(NamedTuple):
    """What an engine has to do: relQueries and rows that are not done, also those not yet taken in."""

    num_relqueries: int
    num_rows: int


Router = Callable[[RelSpec, Sequence[EngineLoad]], int]
"""Gives the number of the engine for a relQuery that arrives; a relQuery stays whole."""


class RoundRobin:
    """One engine after the other."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, rel: RelSpec, loads: Sequence[EngineLoad]) -> int:
        """See `Router`."""
        chosen = self._next % len(loads)
        self._next = chosen + 1
        return chosen


def least_loaded(rel: RelSpec, loads: Sequence[EngineLoad]) -> int:
    """The engine with the fewest rows to do; the first of several."""
    return min(range(len(loads)), key=lambda number: loads[number].num_rows)
