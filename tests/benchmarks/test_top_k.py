"""The parts of `benchmarks.top_k`: the published methods are exact where comparisons agree."""

from __future__ import annotations

import random

import pytest

from benchmarks.top_k import METHODS, NUM_ITEMS, Judge, run


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_exact_with_a_consistent_comparer(method: str) -> None:
    found = run(method, "consistent", seed=1)
    assert (found.precision, found.is_exact) == (1.0, True)
    assert found.calls < 4


def test_a_judge_errs_as_often_as_it_says() -> None:
    judge = Judge("flip 0.10", seed=2)
    pairs = [tuple(random.Random(seed).sample(range(NUM_ITEMS), 2)) for seed in range(2000)]
    told = judge.compare(pairs)
    wrong = sum(
        is_before != (judge.worth[a] > judge.worth[b]) for (a, b), is_before in zip(pairs, told, strict=True)
    )
    assert 150 < wrong < 250
    assert (judge.calls, judge.texts, judge.batches) == (2000, 4000, 1)
