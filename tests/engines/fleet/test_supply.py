"""The rows of a relQuery that no member has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relserve.engines.fleet.supply import Supply


@given(st.lists(st.text("ab", max_size=200), max_size=60), st.lists(st.integers(1, 9), max_size=99))
def test_every_row_is_given_once_and_groups_stay_with_a_member(prompts: list[str], sizes: list[int]) -> None:
    supply, found = Supply(prompts), list[int]()
    for i, num in enumerate(sizes):
        took = supply.take(num, "ab"[i % 2])
        found += took
        if i == 2:
            supply.put_back(took)
            found = found[: len(found) - len(took)]
    found += supply.take(len(prompts), "a")
    assert sorted(found) == list(range(len(prompts)))
    assert len(supply) == 0


def test_a_member_goes_on_with_the_group_that_it_began() -> None:
    prompts = [f"{'x' * 100 if i % 2 else 'y' * 100}{i}" for i in range(40)]
    supply = Supply(prompts)
    a, b = supply.take(5, "a"), supply.take(5, "b")
    a += supply.take(5, "a")
    b += supply.take(5, "b")
    assert {i % 2 for i in a} != {i % 2 for i in b}
    assert len({i % 2 for i in a}) == len({i % 2 for i in b}) == 1


def test_rows_that_are_let_in_one_by_one_are_given_to_whoever_has_their_group() -> None:
    prompts = [f"{'ab'[i % 2] * 80} {i}" for i in range(20)]
    supply = Supply(prompts, waits=True)
    assert not supply
    assert sorted(supply.order) == list(range(20))
    assert [row % 2 for row in supply.order] == [0] * 10 + [1] * 10
    supply.let_in(supply.order[:4])
    assert supply.take(3, "a") == [0, 2, 4]
    supply.let_in(supply.order[4:12])
    assert supply.take(1, "b") == [1]  # the other group
    assert supply.take(3, "a") == [6, 8, 10]
    supply.put_back([0])
    assert (len(supply), supply.peek()) == (6, 0)
