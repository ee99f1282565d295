"""The curves of speed by load: scipy's own fit as the reference, bounds, and what is no measurement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.admission.scalability import (
    KINDS,
    Fit,
    SpeedSample,
    fit,
    linear,
    logistic,
    usl,
)
from relserve.policies.model.step_time import StepTime
from relserve.policies.model.work import Work
from tests.modules import later

optimize = later("scipy.optimize")

LOADS = np.array([1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100] * 10, dtype=float)


def noisy(speeds: np.ndarray, seed: int = 1) -> list[SpeedSample]:
    factors = np.random.default_rng(seed).lognormal(0, 0.05, len(speeds))
    return [SpeedSample(float(load), float(v)) for load, v in zip(LOADS, speeds * factors, strict=True)]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("kind", "form", "start", "low"),
    [
        ("usl", lambda load, a, b, c: usl(load, np.array([a, b, c])), (100, 0.01, 1e-4), (0, 0, 0)),
        ("linear", lambda load, a, b: linear(load, np.array([a, b])), (100, 1), (0, 0)),
        (
            "logistic",
            lambda load, a, b, c: logistic(load, np.array([a, b, c])),
            (150, 0.02, 20),
            (0, 0, -1e6),
        ),
    ],
)
def test_the_fit_is_as_good_as_scipys(kind, form, start, low) -> None:  # type: ignore[no-untyped-def]
    samples = noisy(usl(LOADS, np.array([107.0, 0.02, 1e-4])))
    load, speed = np.array(samples).T
    found, _ = optimize.curve_fit(form, load, speed, start, bounds=(low, np.inf), maxfev=20_000)
    reference = 1 - ((speed - form(load, *found)) ** 2).sum() / ((speed - speed.mean()) ** 2).sum()
    assert fit(samples, kind).r2 >= reference - 1e-3


def test_the_law_is_found_again() -> None:
    found = fit(noisy(usl(LOADS, np.array([107.0, 0.02, 1e-4]))))
    assert found.parameters == pytest.approx((107, 0.02, 1e-4), rel=0.15)
    assert found.r2 > 0.97
    assert found.num_samples == len(LOADS)


def test_the_law_explains_more_than_a_line() -> None:
    samples = noisy(usl(LOADS, np.array([107.0, 0.02, 1e-4])))
    assert fit(samples).r2 > fit(samples, "linear").r2 + 0.02


@given(
    st.lists(
        st.tuples(st.floats(0.5, 500), st.floats(1e-2, 1e4)).map(lambda pair: SpeedSample(*pair)),
        min_size=3,
        max_size=30,
    ),
    st.sampled_from(KINDS),
)
@settings(deadline=None, max_examples=60)
def test_speeds_are_positive_finite_and_never_rise(samples: list[SpeedSample], kind: str) -> None:
    found = fit(samples, kind)  # type: ignore[arg-type]
    speeds = found.table
    assert np.isfinite(speeds).all()
    assert (speeds > 0).all()
    assert (np.diff(speeds) <= 1e-9).all()
    assert found.r2 <= 1.0
    assert found.speed(7) == pytest.approx(float(speeds[7]))


def test_a_speed_between_whole_loads_is_between_theirs() -> None:
    found = Fit("usl", (100.0, 0.1, 0.001), 1.0, 3)
    assert found.speed(5) < found.speed(4.5) < found.speed(4)
    assert found.speed(0) == found.speed(1) == 100


def test_what_is_no_measurement_is_left_out() -> None:
    good = [SpeedSample(1, 100), SpeedSample(10, 80), SpeedSample(50, 40)]
    bad = [SpeedSample(math.nan, 1), SpeedSample(3, math.inf), SpeedSample(0, 5), SpeedSample(4, -1)]
    assert fit([*good, *bad]) == fit(good)


def test_too_few_samples_and_unknown_forms_are_errors() -> None:
    with pytest.raises(ValueError, match="at least 3 measured speeds, there are 1"):
        fit([SpeedSample(1, 1), SpeedSample(math.nan, 2)])
    with pytest.raises(ValueError, match="no curve 'cubic'; there are: usl, logistic, linear"):
        fit([SpeedSample(1, 1)] * 3, "cubic")  # type: ignore[arg-type]


def test_one_speed_at_one_load_is_no_poor_fit() -> None:
    assert fit([SpeedSample(5, 50)] * 4).r2 == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_speed_that_no_clock_can_tell_is_no_overflow(kind: str) -> None:
    found = fit(
        [SpeedSample(1.0, 50.0), SpeedSample(2.0, 40.0), SpeedSample(3.0, 30.0), SpeedSample(2.0, 1.7e158)],
        kind,
    )
    assert all(math.isfinite(each) for each in found.parameters)


def test_a_curve_is_a_model_of_decode_steps() -> None:
    """Each of those that run gets a token a step, so a step takes as long as one of its tokens."""
    curve: StepTime = Fit("usl", (50.0, 0.01, 0.0), 1.0, 9)
    assert curve.seconds(Work(num_decodes=1)) == pytest.approx(0.02)
    assert curve.seconds(Work(num_decodes=101)) == pytest.approx(0.04)
    assert curve.seconds(Work(500, 1)) == 0.0
