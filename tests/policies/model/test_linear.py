"""The cost model: what it predicts, and that fitting finds it again in noise with hiccups."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.model.linear import CostModel, fit
from relserve.policies.model.online import FixedCost, OnlineCost
from relserve.policies.model.work import MeasuredStep, Work

TRUE = CostModel(8e-5, 4e-3, 2e-4, 3e-3, mixed_base_s=5e-3)


def step(tokens: float, decodes: float, seconds: float) -> MeasuredStep:
    return MeasuredStep(Work(tokens, num_decodes=decodes), seconds)


def samples(count: int, seed: int, hiccups: float = 0.0) -> list[MeasuredStep]:
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        tokens = rng.choice([0, rng.randrange(1, 1024)])
        decodes = rng.randrange(1, 64) if not tokens or rng.random() < 0.5 else 0
        seconds = TRUE.step(tokens, decodes) * rng.gauss(1, 0.03)
        if rng.random() < hiccups:
            seconds *= rng.uniform(3, 30)
        made.append(step(tokens, decodes, seconds))
    return made


def assert_close(model: CostModel, rel: float) -> None:
    for tokens, decodes in [(500, 0), (0, 40), (300, 20)]:
        assert model.step(tokens, decodes) == pytest.approx(TRUE.step(tokens, decodes), rel=rel)


@pytest.mark.parametrize("seed", range(5))
def test_fit_finds_the_coefficients(seed: int) -> None:
    assert_close(fit(samples(400, seed)), rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_fit_shrugs_off_hiccups(seed: int) -> None:
    assert_close(fit(samples(400, seed, hiccups=0.1)), rel=0.1)


def test_too_few_samples_need_a_prior() -> None:
    with pytest.raises(ValueError, match="at least 8 measured steps, there are 3"):
        fit(samples(3, 0))
    assert fit(samples(3, 0), TRUE) is TRUE


def test_coefficients_that_samples_do_not_tell_come_from_the_prior() -> None:
    decodes_only = [step(0, n, TRUE.decode(n)) for n in range(1, 60)]
    model = fit(decodes_only, CostModel(1.0, 2.0, 3.0, 4.0))
    assert (model.prefill_per_token_s, model.prefill_base_s) == (1.0, 2.0)
    assert model.decode(30) == pytest.approx(TRUE.decode(30), rel=0.01)


def test_steps_of_one_size_leave_the_shares_of_slope_and_base_as_they_were() -> None:
    slower = [step(0, 64, 2 * TRUE.decode(64))] * 200
    model = fit(slower, TRUE)
    assert model.decode(64) == pytest.approx(2 * TRUE.decode(64), rel=0.01)
    assert model.decode(8) > TRUE.decode(8)
    unchanged = fit([step(0, 64, TRUE.decode(64))] * 200, TRUE)
    assert unchanged.decode_base_s == pytest.approx(TRUE.decode_base_s)
    assert unchanged.decode_per_request_s == pytest.approx(TRUE.decode_per_request_s)


def test_online_follows_a_machine_that_slows_down() -> None:
    online = OnlineCost(TRUE)
    for s in samples(700, 1):
        online.add(s.work, 3 * s.seconds)
    assert online.model.step(300, 20) == pytest.approx(3 * TRUE.step(300, 20), rel=0.1)


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_online_is_sure_of_any_machine_after_few_steps(factor: float) -> None:
    online = OnlineCost(TRUE)
    assert not online.is_sure
    for s in samples(12, 1):
        online.add(s.work, s.seconds * factor)
    assert online.is_sure
    assert 0.5 < online.model.step(300, 20) / (factor * TRUE.step(300, 20)) < 2.0


def test_online_is_unsure_once_steps_take_other_times() -> None:
    online = OnlineCost(TRUE)
    for s in samples(70, 1):
        online.add(*s)
    assert online.is_sure
    for s in samples(8, 2):
        online.add(s.work, s.seconds * 20)
    assert not online.is_sure


def test_saved_and_loaded_it_is_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    TRUE.save(tmp_path / "deep" / "cost.json")
    assert CostModel.load(tmp_path / "deep" / "cost.json") == TRUE


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 500), st.floats(0, 10)), max_size=60))
def test_any_samples_give_positive_coefficients(rows: list[tuple[int, int, float]]) -> None:
    model = fit([step(*r) for r in rows], TRUE)
    assert (
        min(model.prefill_per_token_s, model.prefill_base_s, model.decode_per_request_s, model.decode_base_s)
        > 0
    )
    assert model.step(0, 0) == 0
    assert model.step(100, 0) <= model.step(200, 0)


def test_a_step_is_priced_by_its_work() -> None:
    assert TRUE.seconds(Work(300, 2, 20, 5000)) == TRUE.step(300, 20)
    assert TRUE.seconds(Work()) == 0


def test_a_fixed_cost_learns_nothing() -> None:
    fixed = FixedCost(TRUE)
    for sample in samples(100, 0):
        fixed.add(*sample)
    assert fixed.model is TRUE
