"""What a policy remembers of the relQueries from step to step: numbers in columns, a slot a relQuery."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.order import FEW, Floats, Numbers
from relserve.policies.scheduling.state import RelState, StepView

Column = array  # of doubles, a number a slot
UNKNOWN = float("nan")


class RelQueryTotals(NamedTuple):
    """Sums over all relQueries.

    Attributes:
        with_waiting: relQueries with waiting rows, R-.
        with_running: relQueries with running rows.
        at_work: relQueries with rows of either kind.
        num_decoding, decode_left: rows that decode, and output tokens that running rows have still to give.
    """

    with_waiting: int
    with_running: int
    at_work: int
    num_decoding: int
    decode_left: float


class RelBook:
    """The relQueries of a policy by slot, and columns of what its parts derived of each.

    The slots are those from 0 on without a gap: where a relQuery leaves, that of the last slot takes its
    place. A slot is good until the next view is taken.

    Attributes:
        states: by slot.
        slot_of: by id.
        arrival_s: times of arrival by slot.
        active: slots of the relQueries that changed or run, of the latest view, by id.
        newcomers: slots of those that the latest view showed first, or with more rows than they announced:
            they are not what they were taken for when they came.
        totals: over all relQueries.
        cost: the linear cost model of the latest view.
        has_new_cost: whether that of the view before was another.
        pace_s: seconds that steps take lately, by a guard that keeps time; 0 where none has seen any.
    """

    def __init__(self) -> None:
        self.states: list[RelState] = []
        self.slot_of: dict[str, int] = {}
        self.active: dict[str, int] = {}
        self.newcomers: list[int] = []
        self.totals = RelQueryTotals(0, 0, 0, 0, 0)
        self.cost: CostModel | None = None
        self.has_new_cost = False
        self.pace_s = 0.0
        self._running: dict[str, RelState] = {}
        self._with_waiting: set[str] = set()
        self._columns: dict[str, Column[float]] = {}
        self._blanks: dict[str, float] = {}
        self._groups: dict[tuple[str, ...], tuple[Column[float], ...]] = {}
        self.arrival_s = self.column("arrival_s")
        self._unannounced = self.column("unannounced")

    def column(self, name: str, blank: float = UNKNOWN) -> Column[float]:
        """The column of that name, made when it is first asked for; `blank` where nothing was put down."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = array("d", [blank]) * len(self.states)
            self._blanks[name] = blank
        return column

    def has_column(self, name: str) -> bool:
        """Whether the column of that name was asked for before."""
        return name in self._columns

    def columns(self, names: tuple[str, ...]) -> tuple[Column[float], ...]:
        """Several columns, which are unknown where nothing was put down."""
        columns = self._groups.get(names)
        if columns is None:
            columns = self._groups[names] = tuple(map(self.column, names))
        return columns

    def each(self, formula: Callable[..., Any], *columns: Column[float] | Numbers) -> Numbers:
        """What a formula gives for every slot, of its numbers in some columns.

        Args:
            formula: without a branch, for it is given floats where there are few relQueries, else vectors;
                it must not give back a vector as it came.
        """
        if len(self.states) <= FEW:
            return list(map(formula, *columns))
        found: Floats = formula(*map(vector, columns))
        return found

    def copy(self, column: Column[float]) -> Numbers:
        """The numbers of a column as they are now."""
        return list(column) if len(column) <= FEW else np.array(column)

    @property
    def running(self) -> list[RelState]:
        """relQueries with running rows."""
        return list(self._running.values())

    def take(self, view: StepView) -> None:
        """Bring everything up to date with what happened since the last view."""
        cost = view.cost
        self.has_new_cost = cost is not self.cost
        self.cost, self.newcomers = cost, []
        if view.gone:
            self._forget(view.gone)
        slot_of, unannounced = self.slot_of, self._unannounced
        running, with_waiting = self._running, self._with_waiting
        active = self.active = {rel_id: slot_of[rel_id] for rel_id in running}
        for state in view.changed:
            rel_id = state.rel_id
            slot = slot_of.get(rel_id)
            if slot is None:
                slot = self._add(state)
            elif unannounced[slot] != state.num_unannounced:
                unannounced[slot] = state.num_unannounced
                self.newcomers.append(slot)
            active[rel_id] = slot
            if state.num_running:
                running[rel_id] = state
            else:
                running.pop(rel_id, None)
            if state.num_waiting:
                with_waiting.add(rel_id)
            else:
                with_waiting.discard(rel_id)
        self._count()

    def _add(self, state: RelState) -> int:
        slot = self.slot_of[state.rel_id] = len(self.states)
        self.states.append(state)
        for name, column in self._columns.items():
            column.append(self._blanks[name])
        self.arrival_s[slot], self._unannounced[slot] = state.arrival_s, state.num_unannounced
        self.newcomers.append(slot)
        return slot

    def _forget(self, gone: Sequence[str]) -> None:
        moves: list[tuple[int, int]] = []
        for rel_id in gone:
            slot = self.slot_of.pop(rel_id, None)
            if slot is None:
                continue
            self._running.pop(rel_id, None)
            self._with_waiting.discard(rel_id)
            last = self.states.pop()
            if slot < len(self.states):
                self.states[slot], self.slot_of[last.rel_id] = last, slot
                moves.append((slot, len(self.states)))
        for column in self._columns.values():
            for slot, former in moves:
                column[slot] = column[former]
            del column[len(self.states) :]

    def _count(self) -> None:
        """Bring the totals up to date."""
        running, with_waiting = self._running, self._with_waiting
        at_work = len(with_waiting)
        num_decoding, decode_left = 0, 0.0
        for state in running.values():
            at_work += not state.num_waiting
            num_decoding += state.num_decoding
            decode_left += state.sum_decode_left
        self.totals = RelQueryTotals(len(with_waiting), len(running), at_work, num_decoding, decode_left)


def total(column: Column[float]) -> float:
    """The sum of a column."""
    return sum(column) if len(column) <= FEW else float(vector(column).sum())


def vector(column: Column[float] | Numbers) -> Floats:
    """A column as a vector; not to be kept, for a column cannot grow as long as there is one."""
    return np.asarray(column)
