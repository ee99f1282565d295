"""The curve kept fresh: from nothing, through a tenfold change, and on an engine that no curve explains."""

from __future__ import annotations

import random

import pytest

from relserve.policies.admission.online import LATEST, OnlineCurve
from relserve.policies.admission.scalability import SpeedSample


def true_speed(load: float, factor: float = 1.0) -> float:
    return factor * 100 / (1 + 0.02 * (load - 1) + 1e-4 * load * (load - 1))


def profile(number: int = 20) -> list[SpeedSample]:
    return [SpeedSample(load, true_speed(load)) for load in (1, 5, 20, 50, 100) for _ in range(number)]


def test_it_learns_from_nothing() -> None:
    curve = OnlineCurve()
    assert curve.curve is None
    assert curve.is_poor
    for load in (1, 2, 5, 10, 20, 40) * 6:
        curve.add(SpeedSample(load, true_speed(load)))
    assert curve.curve is not None
    assert curve.curve.speed(30) == pytest.approx(true_speed(30), rel=0.05)
    assert not curve.is_poor


@pytest.mark.parametrize("factor", [0.1, 10.0, 0.5])
def test_a_lasting_change_is_followed_at_all_loads(factor: float) -> None:
    curve, noise = OnlineCurve(profile()), random.Random(3)
    for _ in range(2 * LATEST):
        load = noise.uniform(18, 22)  # one load only
        curve.add(SpeedSample(load, true_speed(load, factor) * noise.lognormvariate(0, 0.03)))
    assert curve.num_jumps == 1
    assert curve.curve is not None
    for load in (1, 20, 80):
        assert curve.curve.speed(load) == pytest.approx(true_speed(load, factor), rel=0.1)


def test_a_hiccup_is_not_followed() -> None:
    curve = OnlineCurve(profile())
    for _ in range(LATEST - 1):
        curve.add(SpeedSample(20, true_speed(20) / 10))
    for _ in range(LATEST):
        curve.add(SpeedSample(20, true_speed(20)))
    assert curve.num_jumps == 0


def test_one_load_is_not_poor_and_an_erratic_engine_is() -> None:
    steady, erratic, noise = OnlineCurve(profile()), OnlineCurve(profile()), random.Random(1)
    for _ in range(100):
        steady.add(SpeedSample(20, true_speed(20) * noise.lognormvariate(0, 0.05)))
        erratic.add(SpeedSample(20, true_speed(20) * noise.lognormvariate(0, 1.0)))
    assert not steady.is_poor
    assert erratic.is_poor


def test_a_fixed_curve_stays() -> None:
    curve = OnlineCurve(profile(), learns=False)
    before = curve.curve
    for _ in range(50):
        curve.add(SpeedSample(10, 1.0))
    assert curve.curve is before


def test_what_is_no_measurement_is_left_out() -> None:
    curve = OnlineCurve(profile())
    number = len(curve.samples)
    for sample in (
        SpeedSample(float("nan"), 1),
        SpeedSample(1, 0),
        SpeedSample(-1, 5),
        SpeedSample(1, float("inf")),
    ):
        curve.add(sample)
    assert len(curve.samples) == number


def test_loads_seen_for_the_first_time_tell_the_shape_and_not_the_level() -> None:
    """The first three samples have it fall too steeply; what comes then is above the curve, and no jump."""
    curve = OnlineCurve([SpeedSample(3.0, 400.0), SpeedSample(3.7, 290.0), SpeedSample(4.0, 265.0)])
    for load in (8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30):
        curve.add(SpeedSample(load, 350 / (1 + 0.035 * (load - 1))))
    assert curve.num_jumps == 0
    assert curve.curve is not None
    for load in (8, 16, 30):
        assert curve.curve.speed(load) == pytest.approx(350 / (1 + 0.035 * (load - 1)), rel=0.15)
