"""The pairs of a join as groups, and their parts."""

from __future__ import annotations

import numpy as np

from relserve.policies.joining.bicliques import Biclique, bicliques


def pairs_of(groups: list[Biclique]) -> list[tuple[int, int]]:
    return [(left, right) for group in groups for left in group.lefts for right in group.rights]


def test_a_cross_product_is_one_group() -> None:
    pairs = np.array([(left, right) for right in range(4) for left in range(3)])
    assert bicliques(pairs) == [Biclique((0, 1, 2), (0, 1, 2, 3))]


def test_an_equality_makes_a_group_of_each_key() -> None:
    pairs = np.array([(left, right) for left in range(9) for right in range(6) if left % 3 == right % 3])
    assert sorted(bicliques(pairs)) == [Biclique((k, k + 3, k + 6), (k, k + 3)) for k in range(3)]


def test_any_pairs_are_in_the_groups_once() -> None:
    random = np.random.default_rng(0)
    pairs = np.argwhere(random.random((30, 20)) < 0.3)
    assert sorted(pairs_of(bicliques(pairs))) == sorted(map(tuple, pairs.tolist()))


def test_rows_of_the_side_with_fewer_groups_go_together() -> None:
    pairs = np.array([(left, right) for right in range(40) for left in range(10) if left >= right % 3])
    assert len(bicliques(pairs)) == 3


def test_tiles_and_halves_have_each_pair_once_and_keep_to_their_size() -> None:
    group = Biclique(tuple(range(23)), tuple(range(100, 131)))
    tiles = list(group.tiles(5, 10))
    assert all(len(tile.lefts) <= 5 and len(tile.rights) <= 10 for tile in tiles)
    halves = [half for tile in tiles for half in tile.halves()]
    assert sorted(pairs_of(tiles)) == sorted(pairs_of(halves)) == sorted(pairs_of([group]))
    assert Biclique((1,), (2, 3, 4)).halves() == (Biclique((1,), (2, 3)), Biclique((1,), (4,)))
