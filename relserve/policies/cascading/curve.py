"""How likely each row is to be true, by its proxy's score and the answers so far. Only plans rest on it."""

from __future__ import annotations

import numpy as np

from relserve.policies.cascading.policy import BoolArray, FloatArray
from relserve.policies.cascading.replayed import IntArray

NUM_BINS = 24
PRIOR_ROWS = 3.0  # a bin's own answers count beside so many rows of what the logistic curve says
SPREAD = 2.0  # answers of neighbouring bins count by exp(-distance / SPREAD)
EDGE = 1e-4  # scores are taken as no surer than this
STEPS = 12


def curve(scores: FloatArray, asked: BoolArray, answers: BoolArray) -> FloatArray:
    """The probability of true for each row, [rows]: Platt's curve, corrected in bins of rank.

    Args:
        scores: ascending, without NaN.
        asked: which rows have an answer; at least one.
        answers: theirs; of other rows it is not read.
    """
    odds = _log_odds(scores)
    fitted = _logistic(odds, *_platt(odds[asked], answers[asked]))
    bins = np.arange(len(scores)) * NUM_BINS // len(scores)
    likely = fitted * _corrections(bins, fitted, asked, answers)[bins]
    return np.asarray(np.clip(likely, 0.0, 1.0))


def _corrections(bins: IntArray, fitted: FloatArray, asked: BoolArray, answers: BoolArray) -> FloatArray:
    """For each bin, its true answers by those that the curve expects; neighbours count a little, [bins]."""
    distance = np.abs(np.arange(NUM_BINS)[:, None] - np.arange(NUM_BINS)[None, :])
    near = np.where(distance <= 2, np.exp(-SPREAD * distance), 0.0)
    expected = near @ np.bincount(bins[asked], fitted[asked], NUM_BINS)
    found = near @ np.bincount(bins[asked], answers[asked], NUM_BINS)
    mean = np.bincount(bins, fitted, NUM_BINS) / np.maximum(np.bincount(bins, minlength=NUM_BINS), 1)
    prior = PRIOR_ROWS * np.maximum(mean, 0.02)
    return np.asarray((found + prior) / (expected + prior))


def _platt(odds: FloatArray, answers: BoolArray) -> tuple[float, float]:
    """Offset and slope of the logistic curve, with a weak pull towards the proxy's own odds."""
    fit, pull = np.array([0.0, 1.0]), np.array([0.1, 0.5])
    rows = np.stack([np.ones_like(odds), odds], 1)
    for _ in range(STEPS):
        said = _logistic(odds, *fit)
        slope = rows.T @ (said - answers) + pull * (fit - [0.0, 1.0])
        bend = (rows * (said * (1 - said))[:, None]).T @ rows + np.diag(pull)
        last, fit = fit, fit - np.clip(np.linalg.solve(bend, slope), -2, 2)
        if np.array_equal(last, fit):
            break  # every further step is the same
    return float(fit[0]), float(fit[1])


def _logistic(odds: FloatArray, offset: float, slope: float) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(offset + slope * odds, -30, 30))))


def _log_odds(scores: FloatArray) -> FloatArray:
    sure = np.clip(scores, EDGE, 1 - EDGE)
    return np.asarray(np.log(sure / (1 - sure)))
