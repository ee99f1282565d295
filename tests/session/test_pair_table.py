"""Which rows the pairs of a join are made of."""

from __future__ import annotations

import pytest

from relserve.session.pair_table import PairTable, pair_table


def test_two_values_are_the_two_sides() -> None:
    found = pair_table((0, 1), [(f"a{i}", j) for j in range(20) for i in range(15)])
    assert isinstance(found, PairTable)
    assert (len(found.lefts), len(found.rights), found.longer) == (15, 20, 1)
    assert found.rights == sorted(map(str, range(20)))


@pytest.mark.parametrize("used", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_values_of_one_row_are_one_side_in_whatever_order(used: tuple[int, ...]) -> None:
    rows = [(f"title {i}", f"genre {j}", f"plot {i}") for j in range(15) for i in range(20)]
    found = pair_table(used, rows)
    assert isinstance(found, PairTable)
    sides = {frozenset(found.left_slots), frozenset(found.right_slots)}
    assert sides == {frozenset({0, 2}), frozenset({1})}
    assert len(found.lefts) * len(found.rights) == 300


@pytest.mark.parametrize(
    ("used", "rows", "why"),
    [
        ((0,), [(i, 1) for i in range(300)], "a single value"),
        ((0, 1), [(i, 1) for i in range(300)], "a single row"),
        ((0, 1), [(i, j) for i in range(9) for j in range(9)], "only 81 pairs"),
    ],
)
def test_what_is_no_join_says_why(used: tuple[int, ...], rows: list[tuple[int, int]], why: str) -> None:
    found = pair_table(used, rows)
    assert isinstance(found, str)
    assert why in found
