"""Texts of similar meaning, put together by their vectors: k-means of scikit-learn, the same each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relserve.errors import OptionError, UsageError
from relserve.policies.joining.likeness import normal

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

EXTRA = "pip install 'relserve[embed]'"
MOST_CLUSTERS = 20  # where the number is to be found
NUM_STARTS = 10
NUM_COMPARED = 2000  # texts by which the number of clusters is chosen
SEED = 0


class Clusters(NamedTuple):
    """Where each text belongs.

    Attributes:
        numbers: of each text's cluster, from 1 for the one of most rows, [texts].
        places: of each text in its cluster, from 1 for the one nearest to the middle, [texts].
    """

    numbers: IntArray
    places: IntArray


def find_clusters(
    texts: Sequence[str], vectors: FloatArray, num_rows: Sequence[int], k: int | None
) -> Clusters:
    """Put distinct texts together.

    The order of the texts has no influence, and neither has the number of threads.

    Args:
        vectors: of the texts, [texts, numbers].
        num_rows: how many rows each text stands for.
        k: how many clusters, at most one a text; None: as many, up to `MOST_CLUSTERS`, as make the texts
            most similar within and most different between clusters (silhouette, Rousseeuw 1987).

    Raises:
        UsageError: scikit-learn is not installed.
        OptionError: `k` is not at least 1.
    """
    if k is not None and k < 1:
        raise OptionError(f"k must be 1 or more, not {k}")
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise UsageError(f"clusters need scikit-learn, which is not installed: {EXTRA}") from None
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    weights = np.asarray(num_rows, np.float64)[order]
    with threadpool_limits(1):  # threads add their sums in the order in which they end
        labels, distances = _clustered(normal(vectors[order]), weights, k)
    clusters = _numbered(labels, distances, weights)
    back = np.argsort(order)
    return Clusters(clusters.numbers[back], clusters.places[back])


def _clustered(vectors: FloatArray, weights: Any, k: int | None) -> tuple[IntArray, FloatArray]:
    """The cluster of each vector, and its distance from the middle of that."""
    from sklearn.cluster import KMeans

    num = len(vectors)
    k = _best_number(vectors, weights) if k is None else min(k, len(np.unique(vectors, axis=0)))
    model = KMeans(k, n_init=NUM_STARTS if num <= NUM_COMPARED else 1, random_state=SEED)
    distances = model.fit_transform(vectors, sample_weight=weights)
    return model.labels_.astype(np.int64), distances[np.arange(num), model.labels_]


def _best_number(vectors: FloatArray, weights: Any) -> int:
    """How many clusters fit best."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    chosen = np.random.default_rng(SEED).permutation(len(vectors))[:NUM_COMPARED]
    some, some_weights = vectors[chosen], weights[chosen]
    numbers = range(2, min(MOST_CLUSTERS, len(np.unique(some, axis=0)) - 1) + 1)
    scores = {}
    for number in numbers:
        model = KMeans(number, n_init=NUM_STARTS, random_state=SEED)
        labels = model.fit(some, sample_weight=some_weights).labels_
        scores[number] = float(silhouette_score(some, labels))
    return max(scores, key=scores.__getitem__, default=1)


def _numbered(labels: IntArray, distances: FloatArray, weights: Any) -> Clusters:
    """Clusters by size, the larger first, and of two as large that of the first text; texts by distance."""
    sizes = np.bincount(labels, weights)
    firsts = [int(np.argmax(labels == label)) for label in range(len(sizes))]
    by_size = sorted(range(len(sizes)), key=lambda label: (-sizes[label], firsts[label]))
    number_of = np.empty(len(sizes), np.int64)
    number_of[by_size] = np.arange(1, len(sizes) + 1)
    places = np.empty(len(labels), np.int64)
    for label in range(len(sizes)):
        members = np.flatnonzero(labels == label)
        nearest = members[np.argsort(distances[members], kind="stable")]
        places[nearest] = np.arange(1, len(members) + 1)
    return Clusters(number_of[labels], places)
