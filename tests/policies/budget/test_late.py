"""Which prompts let others go first."""

from __future__ import annotations

from math import inf

from relserve.policies.budget.late import PATIENCE, SPARE, Late

Waiting = tuple[str, float, float, int]  # who, for how long, with which limit, with how many tokens
FAIR: Waiting = ("fair", 0.1, 1.0, 300)


def held(*waiting: Waiting, token_s: float = 1e-3, room: float = 0.0) -> frozenset[str]:
    seen = Late(token_s, room)
    for each in waiting:
        seen.see(*each)
    return seen.held()


def test_late_ones_wait_as_long_as_somebody_can_be_in_time() -> None:
    late: Waiting = ("late", 0.8, 1.0, 300)
    free: Waiting = ("free", 5.0, inf, 300)
    assert held(late, FAIR, free) == {"late"}
    assert not held(late, free)
    assert not held(late)
    assert not held()


def test_where_those_in_time_leave_room_one_late_one_goes_too() -> None:
    """Else a few small prompts a step would keep late ones out of it that it has room for."""
    late: list[Waiting] = [(f"late{i}", 0.8, 1.0, 300) for i in range(3)]
    assert held(*late, FAIR, room=300) == {"late0", "late1", "late2"}
    assert held(*late, FAIR, room=301) == {"late1", "late2"}


def test_a_prompt_must_have_some_time_to_spare() -> None:
    for tokens, is_late in [(1000, True), (int(1000 / SPARE), False), (int(1000 / SPARE) + 1, True)]:
        assert bool(held(("one", 0.0, 1.0, tokens), FAIR)) is is_late


def test_nobody_waits_for_ever() -> None:
    assert held(("one", PATIENCE - 0.1, 1.0, 1), FAIR) == {"one"}
    assert not held(("one", PATIENCE, 1.0, 1), FAIR)


def test_as_long_as_no_step_was_measured_those_are_late_whose_limit_is_over() -> None:
    assert held(("one", 1.1, 1.0, 10), FAIR, token_s=0.0) == {"one"}
    assert not held(("one", 0.9, 1.0, 10), FAIR, token_s=0.0)
