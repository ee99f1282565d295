"""Fits calibrations of probabilities to labelled rows, and chooses one by rows that were left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relserve.evaluation.calibration_scores import Probabilities, Truths, squared_errors
from relserve.evaluation.calibrators import (
    LEAST,
    Calibrator,
    Curve,
    CurveCalibration,
    LogisticCurve,
    MonotoneCurve,
    TemperatureScaling,
)

FOLDS = 5
FEW = 20  # different probabilities
COOLEST, HOTTEST = 0.05, 20.0  # temperatures that are tried
MOST_STEPS = 100  # of Newton's method, which needs about six

Hits = npt.NDArray[np.bool_]  # whether a choice is right, by row
CurveFit = Callable[[npt.NDArray[np.float64], Hits], Curve]


class FittedCalibration(NamedTuple):
    """The one of several calibrations that was chosen.

    Attributes:
        method: 'none', 'temperature', 'platt' or 'isotonic'.
        calibrator: fitted to all rows.
        held_out: what the method makes of each row when it was fitted without that row.
    """

    method: str
    calibrator: Calibrator
    held_out: Probabilities


def best_calibration(probabilities: Probabilities, truths: Truths) -> FittedCalibration:
    """The simplest method whose Brier score on rows that were left out is as good as the best one's.

    As good is what is worse by no more than one standard error of the difference (Breiman et al., 1984). No
    correction at all is chosen only where it is the best.
    Five times, a fifth of the rows is left out. Rows of equal probabilities are left out together, since they
    are mostly rows of one text; but not where a model has few different ones.

    Args:
        probabilities: of each row's choices, adding up to 1.
        truths: see `calibration_scores`.
    """
    _, same = np.unique(probabilities, axis=0, return_inverse=True)
    same = same.reshape(-1)  # NumPy 2.0 gives it another shape
    if same.max() < FEW:
        same = np.arange(len(same))
    folds = (np.random.default_rng(0).permutation(same.max() + 1) % FOLDS)[same]
    held_out = {name: _held_out(fit, probabilities, truths, folds) for name, fit in FITS.items()}
    errors = {name: squared_errors(found, truths) for name, found in held_out.items()}
    least = min(errors.values(), key=lambda found: float(found.mean()))
    tried = [name for name in FITS if name != "none" or errors[name] is least]
    chosen = next(name for name in tried if _is_as_good(errors[name], least))
    return FittedCalibration(chosen, FITS[chosen](probabilities, truths), held_out[chosen])


def apply(calibrator: Calibrator, probabilities: Probabilities) -> Probabilities:
    """What a calibrator makes of several rows."""
    return np.array([calibrator.calibrated(row) for row in probabilities.tolist()])


def fit_temperature(probabilities: Probabilities, truths: Truths) -> TemperatureScaling:
    """The temperature under which the right choices are likeliest."""
    logs = np.log(np.maximum(probabilities, LEAST))
    rows = np.arange(len(truths))

    def loss(log_temperature: float) -> float:
        scaled = logs / math.exp(log_temperature)
        return float((np.logaddexp.reduce(scaled, axis=1) - scaled[rows, truths]).mean())

    return TemperatureScaling(math.exp(_least(loss, math.log(COOLEST), math.log(HOTTEST))))


def fit_platt(probabilities: Probabilities, truths: Truths) -> CurveCalibration:
    """A logistic curve of each choice's probability."""
    return _curves(_logistic, probabilities, truths)


def fit_isotonic(probabilities: Probabilities, truths: Truths) -> CurveCalibration:
    """The rising curve of each choice's probability that is nearest to what is right."""
    return _curves(_monotone, probabilities, truths)


FITS: Mapping[str, Callable[[Probabilities, Truths], Calibrator]] = {
    "none": lambda probabilities, truths: TemperatureScaling(1.0),
    "temperature": fit_temperature, "platt": fit_platt, "isotonic": fit_isotonic,
}  # fmt: skip


def _is_as_good(errors: npt.NDArray[np.float64], least: npt.NDArray[np.float64]) -> bool:
    more = errors - least
    return bool(more.mean() <= more.std() / math.sqrt(len(more)))


def _held_out(
    fit: Callable[[Probabilities, Truths], Calibrator],
    probabilities: Probabilities,
    truths: Truths,
    folds: npt.NDArray[np.int64],
) -> Probabilities:
    found = np.empty_like(probabilities)
    for fold in np.unique(folds):
        out = folds == fold
        found[out] = apply(fit(probabilities[~out], truths[~out]), probabilities[out])
    return found


def _curves(fit: CurveFit, probabilities: Probabilities, truths: Truths) -> CurveCalibration:
    num = probabilities.shape[1]
    columns = range(1 if num == 2 else num)
    return CurveCalibration(tuple(fit(probabilities[:, i], truths == i) for i in columns))


def _logistic(said: npt.NDArray[np.float64], hits: Hits) -> LogisticCurve:
    """By Newton's method with shortened steps (Lin, Lin and Weng, 2007).

    The targets are Platt's, which are not quite 0 and 1, so that the curve stays finite where the rows can be
    told apart without a mistake.
    """
    inside = np.clip(said, LEAST, 1 - LEAST)
    columns = np.stack([np.log(inside / (1 - inside)), np.ones_like(inside)], axis=1)
    num_hits, num = int(hits.sum()), len(hits)
    targets = np.where(hits, (num_hits + 1) / (num_hits + 2), 1 / (num - num_hits + 2))

    def loss(line: npt.NDArray[np.float64]) -> float:
        return float((np.logaddexp(0, columns @ line) - targets * (columns @ line)).sum())

    line = np.array([0.0, math.log((num_hits + 1) / (num - num_hits + 1))])
    for _ in range(MOST_STEPS):
        now = 0.5 * (1 + np.tanh(columns @ line / 2))
        gradient = columns.T @ (now - targets)
        if np.abs(gradient).max() < 1e-7 * num:
            break
        hessian = columns.T @ (columns * (now * (1 - now))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        while loss(line - step) > loss(line) and np.abs(step).max() > 1e-9:
            step /= 2
        line = line - step
    return LogisticCurve(*line.tolist())


def _monotone(said: npt.NDArray[np.float64], hits: Hits) -> MonotoneCurve:
    """By pooling adjacent violators (Ayer et al., 1955).

    No share is nearer to 0 or 1 than so many rows can tell.
    """
    values, places = np.unique(said, return_inverse=True)
    num_rows, num_hits = np.bincount(places), np.bincount(places, weights=hits)
    blocks: list[tuple[float, float, int]] = []  # hits, rows, number of the first value
    for number, (right, rows) in enumerate(zip(num_hits.tolist(), num_rows.tolist(), strict=True)):
        block = right, rows, number
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = before[0] + block[0], before[1] + block[1], before[2]
        blocks.append(block)
    least = 1 / (len(hits) + 2)
    ends = [first - 1 for _, _, first in blocks[1:]] + [len(values) - 1]
    found: dict[float, float] = {}
    for (right, rows, first), last in zip(blocks, ends, strict=True):
        share = min(max(right / rows, least), 1 - least)
        found[float(values[first])] = found[float(values[last])] = share
    return MonotoneCurve(tuple(found), tuple(found.values()))


def _least(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is least, by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    while high - low > 1e-6:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return (low + high) / 2
