"""Clusters of vectors: what is put together, in which order it is numbered, and that it stays so."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.errors import OptionError
from relserve.session.clusters import Clusters, find_clusters

SIZES = (30, 20, 10)


def _points(seed: int) -> tuple[list[str], np.ndarray, list[int]]:
    """Three groups of vectors around three axes, mixed, with the group of each."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(3), SIZES)
    vectors = np.eye(3, 8)[groups] + 0.1 * random.normal(size=(len(groups), 8))
    mixed = random.permutation(len(groups))
    texts = [f"text {i}" for i in mixed]
    return texts, vectors[mixed].astype(np.float32), groups[mixed].tolist()


def _found(texts: list[str], vectors: np.ndarray, k: int | None) -> Clusters:
    return find_clusters(texts, vectors, [1] * len(texts), k)


@pytest.mark.parametrize("k", [3, None])
def test_groups_are_found_and_numbered_by_their_size(k: int | None) -> None:
    texts, vectors, groups = _points(0)
    found = _found(texts, vectors, k)
    assert (found.numbers - 1).tolist() == groups
    for number, size in enumerate(SIZES, 1):
        assert sorted(found.places[found.numbers == number]) == list(range(1, size + 1))


def test_the_first_of_a_cluster_is_its_most_typical_text() -> None:
    texts, vectors, _ = _points(1)
    found = _found(texts, vectors, 3)
    middle = vectors[found.numbers == 1] / np.linalg.norm(vectors[found.numbers == 1], axis=1, keepdims=True)
    nearest = np.argmin(np.linalg.norm(middle - middle.mean(axis=0), axis=1))
    assert found.places[found.numbers == 1][nearest] == 1


@pytest.mark.cells(1)
@pytest.mark.parametrize("k", [4, None])
def test_the_order_of_the_texts_has_no_influence(k: int | None) -> None:
    texts, vectors, _ = _points(2)
    found = dict(zip(texts, _found(texts, vectors, k).numbers.tolist(), strict=True))
    again = np.random.default_rng(9).permutation(len(texts))
    mixed = [texts[i] for i in again]
    assert dict(zip(mixed, _found(mixed, vectors[again], k).numbers.tolist(), strict=True)) == found


def test_there_are_no_more_clusters_than_texts() -> None:
    vectors = np.eye(2, dtype=np.float32)
    assert _found(["a", "b"], vectors, 9).numbers.tolist() == [1, 2]
    assert _found(["a", "b"], vectors, None).numbers.tolist() == [1, 1]
    assert _found(["a"], vectors[:1], None).numbers.tolist() == [1]


def test_the_larger_cluster_is_that_of_more_rows() -> None:
    found = find_clusters(["a", "b", "c"], np.array([[1, 0], [1, 0.01], [0, 1]], np.float32), [1, 1, 7], 2)
    assert found.numbers.tolist() == [2, 2, 1]


def test_a_wrong_number_is_told() -> None:
    with pytest.raises(OptionError, match="k must be 1 or more, not 0"):
        _found(["a"], np.ones((1, 2), np.float32), 0)
