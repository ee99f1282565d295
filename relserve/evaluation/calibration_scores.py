"""How far probabilities are from what came true: Brier score, calibration error, and a table by bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Probabilities = npt.NDArray[np.float64]  # a row each, a column each choice
Truths = npt.NDArray[np.int64]  # the number of the right choice of each row
BINS = 10  # of equal width, from 0 to 1


class ReliabilityBin(NamedTuple):
    """The rows whose probability lies between two bounds.

    Attributes:
        said: their mean probability.
        true_share: of them that are right.
    """

    low: float
    high: float
    num_rows: int
    said: float
    true_share: float


def squared_errors(probabilities: Probabilities, truths: Truths) -> npt.NDArray[np.float64]:
    """The squared distance of each row from the truth.

    Of two choices that of the first one's probability; of more the sum over the choices.
    """
    wanted = np.eye(probabilities.shape[1])[truths]
    squares = (probabilities - wanted) ** 2
    return squares[:, 0] if probabilities.shape[1] == 2 else squares.sum(1)


def brier_score(probabilities: Probabilities, truths: Truths) -> float:
    """Their mean; 0 is perfect (Brier, 1950)."""
    return float(squared_errors(probabilities, truths).mean())


def reliability(probabilities: Probabilities, truths: Truths) -> list[ReliabilityBin]:
    """The rows by bins of probability, without empty bins.

    Of two choices the probability of the first and the rows of which it is right; of more the probability of
    the likeliest choice and the rows of which that is right.
    """
    if probabilities.shape[1] == 2:
        said, is_right = probabilities[:, 0], truths == 0
    else:
        said, is_right = probabilities.max(1), probabilities.argmax(1) == truths
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    found = []
    for number in np.unique(bins).tolist():
        inside = bins == number
        means = float(said[inside].mean()), float(is_right[inside].mean())
        found.append(ReliabilityBin(number / BINS, (number + 1) / BINS, int(inside.sum()), *means))
    return found


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The mean distance, over all rows, between what their bin says and its share of right rows.

    The expected calibration error of Naeini, Cooper and Hauskrecht (2015), "Obtaining well calibrated
    probabilities using Bayesian binning".
    """
    num_rows = sum(each.num_rows for each in bins)
    return sum(each.num_rows * abs(each.said - each.true_share) for each in bins) / num_rows
