"""Calibrations: against scipy's fits, on rows whose figures are known, and kept as JSON."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from relserve.evaluation.calibration_fits import (
    FITS,
    apply,
    best_calibration,
    fit_isotonic,
    fit_platt,
    fit_temperature,
)
from relserve.evaluation.calibration_scores import brier_score, calibration_error, reliability
from relserve.evaluation.calibrators import (
    CurveCalibration,
    LogisticCurve,
    MonotoneCurve,
    TemperatureScaling,
    as_dict,
    calibrator_of,
)
from tests.modules import later

optimize = later("scipy.optimize")

RNG = np.random.default_rng(1)  # by which an isotonic curve wins by chance
TRUE = RNG.uniform(0.05, 0.95, 600)  # how often the first choice is right
SAID = TRUE**3 / (TRUE**3 + (1 - TRUE) ** 3)  # what a model says that is three times too sure
TWO = np.stack([SAID, 1 - SAID], axis=1)
TRUTHS = (RNG.uniform(size=600) > TRUE).astype(int)
THREE = np.stack([SAID, (1 - SAID) * 0.7, (1 - SAID) * 0.3], axis=1)
TRUTHS_OF_THREE = np.where(TRUTHS == 0, 0, 1 + (RNG.uniform(size=600) > 0.5))


def test_scores_are_those_of_a_hand() -> None:
    said, truths = np.array([[0.95, 0.05], [0.95, 0.05], [0.2, 0.8], [0.25, 0.75]]), np.array([0, 1, 1, 0])
    assert brier_score(said, truths) == pytest.approx((0.0025 + 0.9025 + 0.04 + 0.5625) / 4)
    bins = reliability(said, truths)
    assert [(each.low, each.high, each.num_rows, each.true_share) for each in bins] == [
        (0.2, 0.3, 2, 0.5), (0.9, 1.0, 2, 0.5),
    ]  # fmt: skip
    assert calibration_error(bins) == pytest.approx((0.275 + 0.45) / 2)
    three = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    assert brier_score(three, np.array([0, 1])) == pytest.approx(
        (0.25 + 0.09 + 0.04 + 0.01 + 0.49 + 0.36) / 2
    )
    assert [(each.said, each.true_share) for each in reliability(three, np.array([0, 1]))] == [
        (0.5, 1.0), (0.6, 0.0),
    ]  # fmt: skip


def test_the_likeliest_is_sure_to_be_in_the_last_bin() -> None:
    assert [each.high for each in reliability(np.array([[1.0, 0.0]]), np.array([0]))] == [1.0]


@pytest.mark.parametrize(("said", "truths"), [(TWO, TRUTHS), (THREE, TRUTHS_OF_THREE)])
def test_the_temperature_is_that_of_scipy(said: np.ndarray, truths: np.ndarray) -> None:
    logs = np.log(said)

    def loss(temperature: float) -> float:
        scaled = logs / temperature
        return float((np.log(np.exp(scaled).sum(1)) - scaled[np.arange(600), truths]).sum())

    expected = optimize.minimize_scalar(loss, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-6}).x
    assert fit_temperature(said, truths).temperature == pytest.approx(expected, rel=1e-4)


def test_platts_curve_is_that_of_scipy() -> None:
    hits = TRUTHS == 0
    logit, num = np.log(SAID / (1 - SAID)), int(hits.sum())
    targets = np.where(hits, (num + 1) / (num + 2), 1 / (600 - num + 2))

    def loss(line: np.ndarray) -> float:
        at = line[0] * logit + line[1]
        return float((np.logaddexp(0, at) - targets * at).sum())

    expected = optimize.minimize(loss, [1.0, 0.0], method="BFGS").x
    (curve,) = fit_platt(TWO, TRUTHS).curves
    assert curve == pytest.approx(tuple(expected), abs=1e-4)
    assert curve.slope == pytest.approx(1 / 3, abs=0.1)  # type: ignore[union-attr]


def test_the_isotonic_curve_is_that_of_scipy_and_never_falls() -> None:
    said, truths = np.round(TWO, 2), TRUTHS  # with ties
    values, places = np.unique(said[:, 0], return_inverse=True)
    weights = np.bincount(places)
    means = np.bincount(places, weights=truths == 0) / weights
    expected = np.clip(optimize.isotonic_regression(means, weights=weights).x, 1 / 602, 601 / 602)
    (curve,) = fit_isotonic(said, truths).curves
    assert [curve.at(value) for value in values.tolist()] == pytest.approx(expected.tolist())
    found = [curve.at(i / 500) for i in range(501)]
    assert all(low <= high for low, high in pairwise(found))
    assert (found[0], found[-1]) == pytest.approx((expected[0], expected[-1]))


@pytest.mark.parametrize("method", FITS)
def test_rows_that_are_told_apart_without_a_mistake_stay_finite(method: str) -> None:
    said = np.array([[0.9, 0.1], [1.0, 0.0], [0.1, 0.9], [0.0, 1.0]] * 10)
    found = apply(FITS[method](said, np.array([0, 0, 1, 1] * 10)), said)
    assert np.isfinite(found).all()
    assert (0 < found).all()
    assert found.sum(1) == pytest.approx(np.ones(40))


@pytest.mark.parametrize(("said", "truths"), [(TWO, TRUTHS), (THREE, TRUTHS_OF_THREE)])
def test_what_is_fitted_is_better_on_rows_left_out(said: np.ndarray, truths: np.ndarray) -> None:
    found = best_calibration(said, truths)
    assert found.method != "none"
    assert brier_score(found.held_out, truths) < brier_score(said, truths)
    before, after = (calibration_error(reliability(each, truths)) for each in (said, found.held_out))
    assert after < before / 2
    assert found.held_out.sum(1) == pytest.approx(np.ones(600))


def test_probabilities_that_are_right_already_stay() -> None:
    """Of 3,000 rows: of a few a curve may win by chance."""
    first = np.repeat(np.arange(1, 31) / 31, 100)
    truths = np.concatenate([np.arange(100) >= round(100 * i / 31) for i in range(1, 31)]).astype(int)
    noise = RNG.permutation(3000) * 1e-9  # no two rows are equal
    said = np.stack([first + noise, 1 - first - noise], axis=1)
    found = best_calibration(said, truths)
    assert np.abs(apply(found.calibrator, said) - said).max() < 0.03


@pytest.mark.parametrize(
    "calibrator",
    [
        TemperatureScaling(2.5), CurveCalibration((LogisticCurve(0.4, -1.0),)),
        CurveCalibration((MonotoneCurve((0.1, 0.5), (0.2, 0.9)),)),
    ],
)  # fmt: skip
def test_json_keeps_them(calibrator: TemperatureScaling | CurveCalibration) -> None:
    found = calibrator_of(json.loads(json.dumps(as_dict(calibrator))), 2)
    for p in (0.0, 0.05, 0.3, 0.9, 1.0):
        assert found.calibrated((p, 1 - p)) == calibrator.calibrated((p, 1 - p))


def test_a_temperature_is_a_power() -> None:
    assert TemperatureScaling(0.5).calibrated((0.5, 0.3, 0.2)) == pytest.approx(
        [0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38]
    )


def test_a_model_with_three_different_probabilities_is_corrected() -> None:
    """Whose rows are not left out by their probabilities: that would leave a third of them to a guess."""
    first, shares = np.repeat([0.99, 0.5, 0.01], 100), (0.9, 0.3, 0.2)
    truths = np.concatenate([RNG.permutation(np.arange(100) >= round(100 * share)) for share in shares])
    found = best_calibration(np.stack([first, 1 - first], axis=1), truths.astype(int))
    for said, share in zip((0.99, 0.5, 0.01), shares, strict=True):
        assert found.calibrator.calibrated((said, 1 - said))[0] == pytest.approx(share, abs=0.03)
    assert calibration_error(reliability(found.held_out, truths.astype(int))) < 0.06


def test_a_curve_that_is_no_better_than_a_simpler_one_is_not_taken() -> None:
    """What is three times too sure is corrected by a temperature."""
    assert best_calibration(TWO, TRUTHS).method == "temperature"
