"""How alike two rows are by the words that they share, without a model."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

NUM_DIMENSIONS = 2048
_WORD = re.compile(r"\w+")

Vectors = npt.NDArray[np.float32]


def word_vectors(texts: Sequence[str]) -> Vectors:
    """A vector of length 1 for each text, [texts, dimensions]: its words, rare ones with more weight.

    Words are hashed to dimensions. A text without words is all zeros.
    """
    words = [Counter(zlib.crc32(word.encode()) % NUM_DIMENSIONS for word in _words(text)) for text in texts]
    num_texts_of = Counter(word for each in words for word in each)
    found = np.zeros((len(texts), NUM_DIMENSIONS), np.float32)
    for row, each in enumerate(words):
        for word, num in each.items():
            found[row, word] = np.log1p(num) * np.log((1 + len(texts)) / num_texts_of[word])
    return normal(found)


def normal(vectors: Vectors) -> Vectors:
    """The vectors at length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return found


def ranks(pairs: npt.NDArray[np.int64], lefts: Vectors, rights: Vectors) -> npt.NDArray[np.float64]:
    """For each pair the share of the left row's partners that are no nearer than this one: 1 for the nearest.

    Args:
        pairs: numbers of left and right rows, [pairs, 2].
    """
    likeness = np.concatenate([
        np.einsum("ij,ij->i", lefts[part[:, 0]], rights[part[:, 1]])
        for part in np.array_split(pairs, max(1, len(pairs) // 16384))
    ])  # fmt: skip
    order = np.lexsort((likeness, pairs[:, 0]))
    _, starts, counts = np.unique(pairs[order, 0], return_index=True, return_counts=True)
    found = np.empty(len(pairs))
    found[order] = (np.arange(len(pairs)) - np.repeat(starts, counts) + 1) / np.repeat(counts, counts)
    return found


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
