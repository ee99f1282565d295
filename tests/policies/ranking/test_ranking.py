"""Rankings by pairs: exact where comparisons agree, how many they take, what contradictions give."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from relserve.policies.ranking.matches import Course, Matches, Pair, all_pairs
from relserve.policies.ranking.tournament import tournament
from relserve.policies.ranking.variants import VARIANTS, ranking


def play(course: Course, is_before: Callable[[int, int], bool]) -> tuple[list[int], list[list[Pair]]]:
    """The order that a course ends with, and its batches."""
    batches: list[list[Pair]] = []
    try:
        pairs = next(course)
        while True:
            batches.append(pairs)
            pairs = course.send([is_before(a, b) for a, b in pairs])
    except StopIteration as end:
        return end.value, batches


SIZES = [(1, 1), (2, 1), (2, 2), (3, 1), (7, 3), (20, 20), (33, 1), (64, 5), (100, 3), (257, 10)]


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(("num_items", "k"), [*SIZES, pytest.param(300, 300, marks=pytest.mark.long)])
def test_the_order_is_exact_where_comparisons_agree(name: str, num_items: int, k: int) -> None:
    for seed in range(5):
        values = random.Random(seed).sample(range(num_items), num_items)
        order, batches = play(VARIANTS[name](num_items, k), lambda a, b: values[a] < values[b])  # noqa: B023
        assert order == sorted(range(num_items), key=values.__getitem__)[:k]
        pairs = [frozenset(pair) for batch in batches for pair in batch]
        assert all(len(pair) == 2 for pair in pairs)
        assert len(pairs) == len(set(pairs))  # none is asked twice
        assert all(batches)


def test_ten_of_two_thousand_take_few_comparisons() -> None:
    for seed in range(10):
        values = random.Random(seed).sample(range(2000), 2000)
        order, batches = play(ranking(2000, 10), lambda a, b: values[a] < values[b])  # noqa: B023
        assert order == sorted(range(2000), key=values.__getitem__)[:10]
        assert sum(map(len, batches)) <= 1.5 * 2000
        assert len(batches) <= 16


def test_most_values_are_sorted_rather_than_played() -> None:
    _, batches = play(ranking(200, 150), lambda a, b: a < b)
    assert sum(map(len, batches)) < 200 * 199 / 4


def test_either_of_a_pair_stands_first_as_often() -> None:
    _, batches = play(tournament(1000, 5), lambda a, b: a < b)
    pairs = [pair for batch in batches for pair in batch]
    first = sum(a < b for a, b in pairs) / len(pairs)
    assert 0.4 < first < 0.6


@pytest.mark.parametrize(
    ("before", "order"),
    [
        ({(0, 1): True, (1, 2): True, (0, 2): False}, [0, 1, 2]),  # a cycle: as many wins, so by number
        ({(0, 1): False, (1, 2): True, (0, 2): True}, [1, 0, 2]),
    ],
)
def test_what_contradicts_itself_is_ordered_by_wins(before: Mapping[Pair, bool], order: list[int]) -> None:
    def is_before(a: int, b: int) -> bool:
        return before[a, b] if a < b else not before[b, a]

    assert play(all_pairs([0, 1, 2], Matches()), is_before)[0] == order


def test_a_model_that_always_says_the_first_still_gives_k_items() -> None:
    for name, course in VARIANTS.items():
        order, _ = play(course(200, 7), lambda a, b: True)
        assert (len(order), len(set(order))) == (7, 7), name
