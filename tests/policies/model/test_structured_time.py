"""Step models: R2, hiccups, a speed that changes tenfold, and what no step tells."""

from __future__ import annotations

import random
from math import inf, nan

import numpy as np
import pytest

from relserve.policies.model.regression import Forgetting, non_negative
from relserve.policies.model.structured import FIRST, OURS, PUBLISHED, Form, StepModel
from relserve.policies.model.work import Work
from tests.policies.budget.seen import measured, seconds_of, works

FORMS = pytest.mark.parametrize("form", [PUBLISHED, OURS], ids=["published", "ours"])


def learnt(form: Form, count: int = 1500, hiccups: float = 0.0) -> StepModel:
    model, rng = StepModel(form), random.Random(1)
    for work in works(count):
        model.add(work, measured(work, rng, hiccups=hiccups))
    return model


def errors(model: StepModel, speed: float = 1.0) -> np.ndarray:
    fresh = works(200, seed=9)
    real = np.array([seconds_of(work, speed) for work in fresh])
    return np.abs(model.predict(np.array(fresh)) / real - 1.0)


@FORMS
def test_r2_is_what_the_paper_says(form: Form) -> None:
    model = learnt(form)
    assert model.r2() >= 0.95
    assert model.error() < 0.12
    assert np.median(errors(model)) < 0.12


def test_ours_knows_what_the_published_form_leaves_out() -> None:
    published, ours = learnt(PUBLISHED), learnt(OURS)
    assert np.median(errors(ours)) < np.median(errors(published)) / 2
    assert np.median(errors(ours)) < 0.02


def test_hiccups_do_not_move_ours() -> None:
    assert np.median(errors(learnt(OURS, hiccups=0.05))) < 0.03
    assert np.median(errors(learnt(PUBLISHED, hiccups=0.05))) > 0.05


@pytest.mark.cells(1)
@FORMS
@pytest.mark.parametrize("speed", [10.0, 0.1])
def test_a_tenfold_change_is_followed_within_thirty_seconds_of_steps(form: Form, speed: float) -> None:
    model, rng, now_s = learnt(form), random.Random(2), 0.0
    for work in works(5000, seed=3):
        seconds = measured(work, rng) * speed
        now_s += seconds
        model.add(work, seconds)
        if now_s > 30.0:
            break
    assert np.median(errors(model, speed)) < (0.1 if form is OURS else 0.25)


def test_ours_follows_after_a_few_steps_without_taking_a_hiccup_for_a_change() -> None:
    model, rng = learnt(OURS), random.Random(2)
    model.add(Work(0, 0, 5, 5000, 0), 1.0)
    assert np.median(errors(model)) < 0.03
    for work in works(12, seed=3):
        model.add(work, measured(work, rng) * 10)
    assert np.median(errors(model, 10.0)) < 0.1


def test_steps_that_were_never_seen_are_no_change_of_the_speed() -> None:
    """The model is wrong about them, and right about the others afterwards."""
    model, rng = StepModel(OURS), random.Random(4)
    for number in range(600):
        model.add(Work(0, 0, 10 + number % 5, 9000, 0), 0.0095 * rng.lognormvariate(0, 0.03))
    for _ in range(40):
        model.add(Work(2000, 1, 10, 9000, 2e6), 0.08 * rng.lognormvariate(0, 0.03))
    both = np.array([Work(0, 0, 12, 9000, 0), Work(2000, 1, 10, 9000, 2e6)], dtype=float)
    assert model.predict(both) == pytest.approx([0.0095, 0.08], rel=0.15)


def test_a_step_larger_than_all_before_is_learnt_at_once() -> None:
    """Prompts of 64 tokens tell little of what the attention of 1,500 costs; one step of these tells it."""
    model, rng = StepModel(OURS), random.Random(5)
    for number in range(70):
        short = Work(64 * (1 + number % 4), 1 + number % 4, 100, 9000.0, 2080.0 * (1 + number % 4))
        model.add(short, measured(short, rng))
    long = Work(1500, 1, 100, 9000, 1.1e6)
    before = float(model.predict(np.array([long], dtype=float))[0])
    assert seconds_of(long) / 3 < before < 1.5 * seconds_of(long)
    model.add(long, seconds_of(long))
    assert model.predict(np.array([long], dtype=float))[0] == pytest.approx(seconds_of(long), rel=0.1)


@pytest.mark.long
def test_it_is_right_of_nearly_all_steps_from_the_first_prediction_on() -> None:
    """R2 over the whole of a run, as traffic begins: rows come, then long prompts beside them."""
    for seed in range(6):
        model, rng = StepModel(OURS), random.Random(seed)
        for number in range(600):
            rows = min(4 * number, 150)
            tokens = (256, 128, 384)[number % 3] if number < 40 else rng.choice([0, 64, 300, 900])
            prefills = max(1, tokens // 64) if number < 40 else int(tokens > 0)
            before = 0 if number < 40 or tokens < 300 else rng.randrange(1500)
            pairs = tokens * (before + tokens / max(prefills, 1) / 2)
            work = Work(tokens, prefills, rows, 120.0 * rows + before, pairs)
            model.add(work, measured(work, rng))
        assert model.r2(600) > 0.95


@FORMS
def test_the_peak_is_what_tokens_a_second_go_to(form: Form) -> None:
    """P_max of Eq. 2: a token takes 27 us, and the published form counts attention and reading with it."""
    model = learnt(form)
    assert 0.5 / 2.7e-5 < model.peak_tokens_per_s < 1.1 / 2.7e-5
    many = np.array([Work(1e7, 1, 0, 0, 0)], dtype=float)
    assert model.peak_tokens_per_s == pytest.approx(1e7 / float(model.predict(many)[0]), rel=0.1)


@FORMS
def test_an_engine_that_is_four_times_as_fast_has_four_times_the_peak(form: Form) -> None:
    fast, slow = StepModel(form), StepModel(form)
    for work in works(600):
        fast.add(work, seconds_of(work))
        slow.add(work, seconds_of(work, 4.0))
    assert fast.peak_tokens_per_s == pytest.approx(4.0 * slow.peak_tokens_per_s, rel=1e-3)


@FORMS
def test_the_peak_is_static_between_two_fits_and_none_before_the_first(form: Form) -> None:
    assert StepModel(form).peak_tokens_per_s == inf
    model = learnt(form, 1000)
    before, work = model.peak_tokens_per_s, works(1)[0]
    predicted = model.predict(np.array([work], dtype=float))[0]
    for _ in range(5):  # quick coefficients follow
        model.add(work, 1.3 * predicted)
    assert model.predict(np.array([work], dtype=float))[0] > predicted
    assert model.peak_tokens_per_s == before


@FORMS
def test_a_time_that_is_none_is_not_taken(form: Form) -> None:
    model = StepModel(form)
    for seconds in (0.0, -1.0, nan, inf):
        model.add(Work(1, 1, 1, 1, 1), seconds)
    assert model.num_steps == 0
    assert not model.is_ready
    assert np.isnan(model.r2())
    assert np.isnan(model.error())
    for work in works(FIRST):
        model.add(work, seconds_of(work))
    assert model.is_ready


def test_no_coefficient_is_below_zero() -> None:
    rng = np.random.default_rng(0)
    columns = rng.uniform(0, 1, (50, 3))
    found = non_negative(columns, columns @ np.array([1.0, -2.0, 3.0]), np.ones(50))
    assert found.min() == 0.0
    exact = non_negative(columns, columns @ np.array([1.0, 2.0, 3.0]), np.ones(50))
    assert exact == pytest.approx([1.0, 2.0, 3.0])


def test_forgetting_leaves_alone_what_the_latest_steps_do_not_tell() -> None:
    quick = Forgetting(np.ones(2), 0.9)
    for _ in range(100):
        quick.add(np.array([1.0, 0.0]), 0.5)
    change = quick.change()
    assert change[0] == pytest.approx(0.5, rel=0.1)
    assert change[1] == 0.0


def test_what_is_known_is_replaced_as_a_whole() -> None:
    """Whoever took it before is answered as then: by one shape and the coefficients that belong to it."""
    model, rng = StepModel(OURS), random.Random(3)
    taken = []
    for work in works(300):
        model.add(work, measured(work, rng))
        taken.append((model.model, model.model.seconds(work) if model.is_ready else None, work))
    assert len({id(known) for known, _, _ in taken}) > 10
    for known, seconds, work in taken:
        assert seconds is None or known.seconds(work) == seconds
    assert model.seconds(taken[-1][2]) == taken[-1][1]
