"""Vectors as the texts of replies: JSON lists of numbers."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

DECIMALS = 5  # of each number of a vector of length 1: a cosine of two such differs by less than 1e-4


def text_of_vector(vector: ArrayLike) -> str | None:
    """A vector, divided by its length and rounded; None where it has no length, or a number is not finite."""
    numbers = np.asarray(vector, np.float64)
    length = np.linalg.norm(numbers)
    if not 0 < length < np.inf:
        return None
    return msgspec.json.encode(np.round(numbers / length, DECIMALS).tolist()).decode()
