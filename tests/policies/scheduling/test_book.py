"""What a policy remembers, against a plain recount, while relQueries come, change and go."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.scheduling.book import RelBook, RelQueryTotals
from relserve.policies.scheduling.state import RelState
from tests.policies.states import view_of

counts = st.integers(0, 3)
events = st.lists(st.tuples(st.integers(0, 90), counts, counts, counts, st.booleans()), max_size=12)


@settings(max_examples=50)
@given(st.lists(events, max_size=20))
def test_totals_and_slots_agree_with_a_recount(steps: list[list[tuple[int, int, int, int, bool]]]) -> None:
    book, alive = RelBook(), dict[str, RelState]()
    for now, step in enumerate(steps):
        changed, gone = dict[str, RelState](), list[str]()
        for number, waiting, prefilling, decoding, leaves in step:
            name = f"r{number}"
            if leaves and name in alive:
                del alive[name]
                changed.pop(name, None)
                gone.append(name)
                continue
            state = changed[name] = alive.setdefault(name, RelState(name, float(now), 4, 5))
            state.num_waiting, state.num_running, state.num_decoding = (
                waiting,
                prefilling + decoding,
                decoding,
            )
            state.sum_decode_left = 2 * decoding
        book.take(view_of(list(changed.values()), gone=gone))
        check(book, alive)


def check(book: RelBook, alive: dict[str, RelState]) -> None:
    states = list(alive.values())
    assert book.totals == RelQueryTotals(
        sum(s.num_waiting > 0 for s in states), sum(s.num_running > 0 for s in states),
        sum(s.num_waiting + s.num_running > 0 for s in states), sum(s.num_decoding for s in states),
        sum(s.sum_decode_left for s in states),
    )  # fmt: skip
    assert {s.rel_id for s in book.running} == {s.rel_id for s in states if s.num_running}
    assert {s.rel_id: slot for slot, s in enumerate(book.states)} == book.slot_of
    assert set(book.slot_of) == set(alive)
    for name, slot in book.slot_of.items():
        assert book.arrival_s[slot] == alive[name].arrival_s


def test_a_slot_that_is_used_again_remembers_nothing() -> None:
    book = RelBook()
    book.take(view_of([RelState("a", 0.0, 1, 5)]))
    book.column("notes")[book.slot_of["a"]] = 7.0
    book.take(view_of([], gone=["a"]))
    book.take(view_of([RelState("b", 1.0, 1, 5)]))
    assert math.isnan(book.column("notes")[book.slot_of["b"]])
    assert len(book.states) == 1


def test_slots_that_a_burst_took_are_dropped_after_it() -> None:
    book, names = RelBook(), [f"r{i}" for i in range(500)]
    book.take(view_of([RelState(name, float(number), 1, 5) for number, name in enumerate(names)]))
    book.take(view_of([], gone=names[1:]))
    assert len(book.states) == len(book.arrival_s) == 1
    book.take(view_of([RelState("late", 9.0, 1, 5), RelState("later", 10.0, 1, 5)]))
    assert book.arrival_s.tolist() == [0.0, 9.0, 10.0]
    book.take(view_of([], gone=["late", "later", "r0"]))
    assert not book.states


def test_columns_grow_with_the_slots() -> None:
    book = RelBook()
    notes = book.column("notes")
    book.take(view_of([RelState(f"r{i}", 0.0, 1, 5) for i in range(500)]))
    notes[499] = 1.0
    assert math.isnan(notes[498])
    assert notes[499] == 1.0
