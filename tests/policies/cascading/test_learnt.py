"""The proxy that is learnt from the large model's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

from relserve.policies.cascading.learnt import LearntProxy, learn
from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.variants import make

NUM_ROWS = 1500
Numbers = npt.NDArray[np.float32]


def vectors(truths: npt.NDArray[np.bool_], seed: int) -> Numbers:
    """Unit vectors, one direction of which tells the truth of most rows."""
    found = np.random.default_rng([seed, 7]).normal(size=(len(truths), 16)).astype(np.float32)
    found[:, 0] += 8 * (truths - 0.5)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def learnt(
    numbers: Numbers, answer: Callable[[int], Any], seed: int = 0
) -> tuple[LearntProxy, dict[int, Any]]:
    """The proxy, and the answers that it was learnt from."""
    return learnt_from(numbers, np.asarray(~np.isnan(numbers).any(axis=1)), answer, seed)


def learnt_from(
    numbers: Any, known: npt.NDArray[np.bool_], answer: Callable[[int], Any], seed: int = 0
) -> tuple[LearntProxy, dict[int, Any]]:
    """Likewise, of rows of which it is told whether they have numbers."""
    course, answers = learn(numbers, known, np.random.default_rng(seed)), dict[int, Any]()
    told: Sequence[Any] | None = None
    while True:
        try:
            batch = next(course) if told is None else course.send(told)
        except StopIteration as end:
            return end.value, answers
        told = [answer(row) for row in batch.tolist()]
        answers |= dict(zip(batch.tolist(), told, strict=True))


def test_the_targets_hold_with_what_was_learnt_and_its_answers_are_used() -> None:
    met = 0
    for seed in range(15):
        truths = np.random.default_rng(seed).random(NUM_ROWS) < 0.3
        proxy, answers = learnt(vectors(truths, seed), lambda row, truths=truths: bool(truths[row]), seed)
        assert proxy.classes == (False, True)
        scores = proxy.shares[:, 1]
        assert set(np.flatnonzero(np.isnan(scores)).tolist()) == set(answers)
        num_learnt, cascade = len(answers), make("sampled_ends", Targets(0.9, 0.9, 0.95), seed)
        while batch := cascade.rows_to_ask(scores, answers):
            answers |= {row: bool(truths[row]) for row in batch}
        kept = cascade.outcome(scores, answers).kept
        right = (kept & truths).sum()
        met += bool(right >= 0.9 * kept.sum() and right >= 0.9 * truths.sum())
        assert num_learnt < len(answers) < 0.7 * NUM_ROWS
    assert met >= 14


@pytest.mark.parametrize("failed", [None, "one"])
def test_of_few_rows_or_failures_nothing_is_learnt_and_nothing_breaks(failed: str | None) -> None:
    numbers = vectors(np.array([True, False, True]), 0)
    proxy, answers = learnt(numbers, lambda row: failed)
    assert proxy.classes == (None,)
    assert len(answers) == 0
    numbers = vectors(np.arange(100) % 2 == 0, 0)
    proxy, answers = learnt(numbers, lambda row: failed)
    assert proxy.classes == (failed,)
    assert np.isnan(proxy.shares).sum() == len(answers) == 26


def test_a_row_without_numbers_has_no_share_and_is_not_learnt_from() -> None:
    truths = np.random.default_rng(0).random(400) < 0.5
    numbers = vectors(truths, 0)
    numbers[::4] = np.nan
    proxy, answers = learnt(numbers, lambda row: "even" if truths[row] else "odd")
    assert proxy.classes == ("even", "odd")
    assert not any(row % 4 == 0 for row in answers)
    assert np.isnan(proxy.shares[::4]).all()


def test_a_word_that_no_asked_row_has_weighs_nothing_and_a_sparse_array_gives_the_same() -> None:
    truths = np.random.default_rng(0).random(NUM_ROWS) < 0.3
    numbers = vectors(truths, 0)
    plain, asked = learnt(numbers, lambda row: row % 3 * int(truths[row]))
    rare = (~np.isin(np.arange(NUM_ROWS), list(asked)))[:, None] * np.ones((1, 5))
    with_rare = sparse.csr_array(np.hstack([rare, numbers]))
    proxy = learnt_from(with_rare, np.full(NUM_ROWS, True), lambda row: row % 3 * int(truths[row]))[0]
    assert proxy.classes == plain.classes == (0, 1, 2)
    assert np.allclose(proxy.shares, plain.shares, atol=1e-5, equal_nan=True)


def test_rows_that_are_all_alike_tell_nothing() -> None:
    proxy, asked = learnt(np.zeros((NUM_ROWS, 2), np.float32), lambda row: row % 2)
    shares = np.delete(proxy.shares, list(asked), axis=0)
    assert np.allclose(shares, shares[0])
