"""What a policy remembers of the relQueries from step to step: numbers in arrays, a slot a relQuery."""

from __future__ import annotations

from heapq import heappop, heappush
from operator import add, attrgetter, sub
from typing import NamedTuple

import numpy as np

from relserve.policies.scheduling.order import Floats
from relserve.policies.scheduling.state import RelState, StepView

FIRST_SLOTS = 64


class Counts(NamedTuple):
    """The counts of several relQueries as arrays; named as in `RelState`."""

    num_waiting: Floats
    waiting_tokens: Floats
    num_arrived: Floats
    arrived_tokens: Floats
    num_rows: Floats
    output_cap: Floats
    num_running: Floats
    num_decoding: Floats
    prefill_left: Floats
    max_decode_left: Floats
    sum_decode_left: Floats
    waiting_outputs: Floats

    @classmethod
    def of(cls, states: list[RelState]) -> Counts:
        """Read them."""
        table = np.array([_read(state) for state in states], dtype=float)
        return cls(*table.reshape(len(states), len(cls._fields)).T)

    @property
    def num_unseen(self) -> Floats:
        """Rows announced that have not arrived."""
        return np.maximum(0.0, self.num_rows - self.num_arrived)

    @property
    def mean_tokens(self) -> Floats:
        """Prompt tokens of a row on average; 1 before any has arrived."""
        return np.where(self.num_arrived > 0, self.arrived_tokens / np.maximum(self.num_arrived, 1.0), 1.0)


_read = attrgetter(*Counts._fields)


class Totals(NamedTuple):
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
    decode_left: int

    @classmethod
    def of(cls, state: RelState) -> Totals:
        """What one relQuery adds."""
        waiting, running = state.num_waiting > 0, state.num_running > 0
        return cls(waiting, running, waiting or running, state.num_decoding, state.sum_decode_left)


NOTHING = Totals(0, 0, 0, 0, 0)


class Table:
    """`width` numbers a slot; `blank` where nothing was put down."""

    def __init__(self, width: int, num_slots: int, blank: float) -> None:
        self.blank = blank
        self._data = np.full((width, num_slots), blank)

    def __getitem__(self, slots: int | slice | list[int]) -> Floats:
        """The numbers of some slots: a row each number, a column each slot."""
        found: Floats = self._data[:, slots]
        return found

    def one(self, slot: int) -> float:
        """The first number of one slot."""
        return float(self._data[0, slot])

    def __setitem__(self, slots: int | slice | list[int], numbers: Floats | float) -> None:
        self._data[:, slots] = numbers

    def grow(self, num_slots: int) -> None:
        """Have room for more slots."""
        more = np.full((len(self._data), num_slots - self._data.shape[1]), self.blank)
        self._data = np.concatenate([self._data, more], axis=1)


class RelBook:
    """The relQueries of a policy by slot, and tables of what its parts derived of each.

    Attributes:
        states: by slot; None where a slot is empty.
        slot_of: by id.
        active: slots of the relQueries that changed or run, of the latest view.
        enlarged: slots, of the latest view, of those that had more rows than announced: they are not what
            they were taken for when they came.
        totals: over all relQueries.
    """

    def __init__(self) -> None:
        self.states: list[RelState | None] = []
        self.slot_of: dict[str, int] = {}
        self.active: list[int] = []
        self.enlarged: list[int] = []
        self.totals = NOTHING
        self._running: dict[int, None] = {}
        self._unannounced: dict[int, int] = {}
        self._empty: list[int] = []  # a heap; slots that were dropped may still be in it
        self._num_slots = FIRST_SLOTS
        self._tables: dict[str, Table] = {}
        self._arrival_s = self.table("arrival_s", 1)
        self._parts: list[Totals] = []
        self._counts: Counts | None = None

    def table(self, name: str, width: int, blank: float = np.nan) -> Table:
        """The table of that name; made when it is first asked for."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = Table(width, self._num_slots, blank)
        return table

    @property
    def used(self) -> slice:
        """The slots that are or were in use."""
        return slice(0, len(self.states))

    @property
    def arrival_s(self) -> Floats:
        """Times of arrival of the used slots."""
        times_s: Floats = self._arrival_s[self.used][0]
        return times_s

    @property
    def running(self) -> list[RelState]:
        """relQueries with running rows."""
        return [state for slot in self._running if (state := self.states[slot]) is not None]

    def take(self, view: StepView) -> None:
        """Bring everything up to date with what happened since the last view."""
        self.enlarged = []
        self._forget([slot for rel_id in view.gone if (slot := self.slot_of.pop(rel_id, None)) is not None])
        slots = dict(self._running)
        for state in view.changed:
            slots[self._slot(state)] = None
        self.active = list(slots)
        self._counts = None
        for slot, state in zip(self.active, self.active_states, strict=True):
            self._replace_part(slot, Totals.of(state))
            if state.num_running:
                self._running[slot] = None
            else:
                self._running.pop(slot, None)

    @property
    def active_states(self) -> list[RelState]:
        """The active relQueries."""
        return [state for slot in self.active if (state := self.states[slot]) is not None]

    @property
    def counts(self) -> Counts:
        """Of the active relQueries."""
        if self._counts is None:
            self._counts = Counts.of(self.active_states)
        return self._counts

    def _replace_part(self, slot: int, part: Totals) -> None:
        """Replace what a relQuery adds to the totals."""
        before = self._parts[slot]
        if part != before:
            self._parts[slot] = part
            self.totals = Totals(*map(add, self.totals, map(sub, part, before)))

    def _slot(self, state: RelState) -> int:
        slot = self.slot_of.get(state.rel_id)
        if slot is None:
            slot = self._empty_slot()
            self.slot_of[state.rel_id], self.states[slot] = slot, state
            self._arrival_s[slot] = state.arrival_s
            self._unannounced[slot] = state.num_unannounced
        elif self._unannounced[slot] != state.num_unannounced:
            self._unannounced[slot] = state.num_unannounced
            self.enlarged.append(slot)
        return slot

    def _empty_slot(self) -> int:
        """The lowest, so that the highest become empty and can be dropped."""
        while self._empty:
            slot = heappop(self._empty)
            if slot < len(self.states):
                return slot
        if len(self.states) == self._num_slots:
            self._num_slots *= 2
            for table in self._tables.values():
                table.grow(self._num_slots)
        self.states.append(None)
        self._parts.append(NOTHING)
        return len(self.states) - 1

    def _forget(self, slots: list[int]) -> None:
        if not slots:
            return
        for table in self._tables.values():
            table[slots] = table.blank
        for slot in slots:
            self._replace_part(slot, NOTHING)
            self.states[slot] = None
            self._running.pop(slot, None)
            del self._unannounced[slot]
            heappush(self._empty, slot)
        while self.states and self.states[-1] is None:
            self.states.pop()
            self._parts.pop()
