"""Probabilities of choices, corrected by a fitted calibration to say how often a choice is right."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

LEAST = 1e-9  # probability whose logarithm is taken; a model's own are seldom exact below


class Calibrator(Protocol):
    """Corrects the probabilities of a call's choices."""

    def calibrated(self, probabilities: Sequence[float]) -> tuple[float, ...]:
        """The corrected probabilities, which add up to 1, in the order of the choices."""


@dataclass(frozen=True)
class TemperatureScaling:
    """p_i^(1/T), in proportion to their sum.

    Guo et al. (2017), "On calibration of modern neural networks". A temperature T above 1 makes a model less
    sure, and the order of the choices stays.
    """

    temperature: float

    def calibrated(self, probabilities: Sequence[float]) -> tuple[float, ...]:
        """See `Calibrator`."""
        return _shares([max(p, LEAST) ** (1 / self.temperature) for p in probabilities])


class LogisticCurve(NamedTuple):
    """A choice beside all others: sigmoid(slope * logit(p) + intercept).

    Platt (1999), "Probabilistic outputs for support vector machines".
    """

    slope: float
    intercept: float

    def at(self, probability: float) -> float:
        """The corrected probability."""
        return 0.5 * (1 + math.tanh((self.slope * _logit(probability) + self.intercept) / 2))


class MonotoneCurve(NamedTuple):
    """A choice beside all others: shares of true rows that never fall, with straight lines between them.

    Zadrozny and Elkan (2002), "Transforming classifier scores into accurate multiclass probability
    estimates".

    Attributes:
        places: probabilities, rising.
        shares: of true rows there.
    """

    places: Sequence[float]
    shares: Sequence[float]

    def at(self, probability: float) -> float:
        """The corrected probability."""
        right = bisect_right(self.places, probability)
        if right in (0, len(self.places)):
            return self.shares[max(right - 1, 0)]
        (x0, x1), (y0, y1) = self.places[right - 1 : right + 1], self.shares[right - 1 : right + 1]
        return y0 + (y1 - y0) * (probability - x0) / (x1 - x0)


Curve = LogisticCurve | MonotoneCurve


@dataclass(frozen=True)
class CurveCalibration:
    """A curve for each choice, then in proportion to their sum; of two choices the first's alone.

    Attributes:
        curves: in the order of the choices; one where there are two.
    """

    curves: tuple[Curve, ...]

    def calibrated(self, probabilities: Sequence[float]) -> tuple[float, ...]:
        """See `Calibrator`."""
        given = _shares(probabilities)  # under `read := 'exact'` they add up to a little less than 1
        if len(given) == 2:
            first = _inside(self.curves[0].at(given[0]))
            return first, 1 - first
        return _shares([_inside(curve.at(p)) for curve, p in zip(self.curves, given, strict=True)])


@dataclass(frozen=True)
class OwnCalibrations:
    """Several questions of equally many choices, each with a calibrator of its own.

    Attributes:
        calibrators: in the order of the questions; None leaves one's probabilities as they are.
    """

    calibrators: tuple[Calibrator | None, ...]

    def calibrated(self, probabilities: Sequence[float]) -> tuple[float, ...]:
        """See `Calibrator`; of all questions, one after the other."""
        size = len(probabilities) // len(self.calibrators)
        parts = (probabilities[i : i + size] for i in range(0, len(probabilities), size))
        pairs = zip(self.calibrators, parts, strict=True)
        return tuple(p for own, part in pairs for p in (part if own is None else own.calibrated(part)))


_CURVES: Mapping[str, type[LogisticCurve] | type[MonotoneCurve]] = {
    "platt": LogisticCurve, "isotonic": MonotoneCurve,
}  # fmt: skip


def as_dict(calibrator: Calibrator) -> dict[str, Any]:
    """A calibrator for JSON: its method, and what was fitted."""
    if isinstance(calibrator, TemperatureScaling):
        return {"temperature": calibrator.temperature}
    assert isinstance(calibrator, CurveCalibration)
    kind = type(calibrator.curves[0])
    (method,) = (name for name, each in _CURVES.items() if each is kind)
    return {method: [curve._asdict() for curve in calibrator.curves]}


def calibrator_of(found: Mapping[str, Any], num_choices: int) -> Calibrator:
    """The calibrator that `as_dict` wrote.

    Raises:
        Exception: of whatever kind, where it did not write this, or not for so many choices.
    """
    ((method, fitted),) = found.items()
    if method == "temperature":
        calibrator: Calibrator = TemperatureScaling(float(fitted))
        if not 0 < fitted < math.inf:
            raise ValueError(f"a temperature of {fitted}")
    else:
        calibrator = CurveCalibration(tuple(_CURVES[method](**each) for each in fitted))
        if len(fitted) != (1 if num_choices == 2 else num_choices):
            raise ValueError(f"{len(fitted)} curves for {num_choices} choices")
        for curve in calibrator.curves:
            _check(curve)
    tried = calibrator.calibrated([1 / num_choices] * num_choices)
    if not math.isclose(sum(tried), 1, abs_tol=1e-6):
        raise ValueError(f"probabilities that add up to {sum(tried)}")
    return calibrator


def _check(curve: Curve) -> None:
    if isinstance(curve, MonotoneCurve):
        for rising in (curve.places, curve.shares):
            if any(not low <= high for low, high in pairwise([0, *rising, 1])):
                raise ValueError(f"{rising} does not rise from 0 to 1")
        if len(curve.places) != len(curve.shares):
            raise ValueError(f"{len(curve.shares)} shares at {len(curve.places)} places")
    elif not all(map(math.isfinite, curve)):
        raise ValueError(f"{curve} is not finite")


def _shares(values: Sequence[float]) -> tuple[float, ...]:
    total = sum(values)
    return tuple(value / total for value in values)


def _inside(probability: float) -> float:
    return min(max(probability, LEAST), 1 - LEAST)


def _logit(probability: float) -> float:
    p = _inside(probability)
    return math.log(p / (1 - p))
