"""Rows that share rare words are alike."""

from __future__ import annotations

import numpy as np

from relserve.policies.joining.likeness import ranks, word_vectors

LEFTS = ["the red bicycle", "the blue teapot", "the old piano", ""]
RIGHTS = ["a TEAPOT of the house", "a piano of the house", "a bicycle of the house"]


def test_the_partner_that_shares_a_rare_word_ranks_first() -> None:
    vectors = word_vectors([*LEFTS, *RIGHTS])
    pairs = np.array([(left, right) for right in range(3) for left in range(4)])
    found = ranks(pairs, vectors[:4], vectors[4:])
    best = {int(left): int(right) for (left, right), rank in zip(pairs, found, strict=True) if rank == 1}
    assert [best[left] for left in range(3)] == [2, 0, 1]
    assert sorted(found[pairs[:, 0] == 3]) == [1 / 3, 2 / 3, 1]


def test_vectors_have_length_one_or_are_zeros() -> None:
    lengths = np.linalg.norm(word_vectors(LEFTS), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 1, 0], atol=1e-6)
