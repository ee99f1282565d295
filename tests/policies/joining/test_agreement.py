"""Whether a sample of pairs tells good verdicts from bad ones."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.policies.joining.agreement import Agreement, AgreementCheck, BoolArray, FloatArray, strata_of

NUM_ROWS, NUM_LABELS = 400, 60
ROWS = np.repeat(np.arange(NUM_ROWS), NUM_LABELS)
TRUTHS = np.tile(np.arange(NUM_LABELS), NUM_ROWS) == ROWS * 7 % NUM_LABELS


def checked(verdicts: BoolArray, likeness: FloatArray, seed: int) -> tuple[Agreement, bool, int]:
    """The outcome, whether the verdicts stand, and how many pairs were asked."""
    check = AgreementCheck(verdicts, {}, strata_of(verdicts, ROWS, likeness), seed)
    answers: dict[int, bool | None] = {}
    while batch := check.pairs_to_ask(answers):
        answers |= {pair: bool(TRUTHS[pair]) for pair in batch}
    return check.outcome(answers), check.stands(answers), len(answers)


def no_likeness(seed: int) -> FloatArray:
    return np.random.default_rng(seed).random(len(TRUTHS))


def test_right_verdicts_stand_after_few_pairs() -> None:
    found, stands, num_asked = checked(TRUTHS, no_likeness(0), 0)
    assert stands
    assert found.f1 == found.high == 1
    assert 0 < found.low < 1
    assert num_asked < len(TRUTHS) / 60


@pytest.mark.parametrize("seed", range(5))
def test_verdicts_that_miss_a_fifth_do_not_stand(seed: int) -> None:
    random = np.random.default_rng(seed)
    found, stands, _ = checked(TRUTHS & (random.random(len(TRUTHS)) > 0.2), no_likeness(seed), seed)
    assert not stands
    assert found.low < 0.89 < found.high + 0.1


@pytest.mark.parametrize("seed", range(5))
def test_verdicts_with_too_many_matches_do_not_stand(seed: int) -> None:
    random = np.random.default_rng(seed)
    _, stands, _ = checked(TRUTHS | (random.random(len(TRUTHS)) < 0.005), no_likeness(seed), seed)
    assert not stands


def test_what_was_asked_before_is_no_draw_and_counts_as_right() -> None:
    verdicts = np.zeros(len(TRUTHS), bool)
    known = {int(pair): True for pair in np.flatnonzero(TRUTHS)}
    check = AgreementCheck(verdicts, known, strata_of(verdicts, ROWS, no_likeness(0)), 0)
    answers: dict[int, bool | None] = dict(known)
    while batch := check.pairs_to_ask(answers):
        assert not known.keys() & set(batch)
        answers |= {pair: bool(TRUTHS[pair]) for pair in batch}
    assert check.outcome(answers).f1 == 1


def test_no_match_at_all_is_agreement() -> None:
    verdicts = np.zeros(len(TRUTHS), bool)
    check = AgreementCheck(verdicts, {}, strata_of(verdicts, ROWS, no_likeness(0)), 0)
    answers: dict[int, bool | None] = dict.fromkeys(range(len(TRUTHS)), False)
    assert check.outcome(answers).f1 == 1


def test_pairs_that_fail_are_no_evidence() -> None:
    check = AgreementCheck(TRUTHS, {}, strata_of(TRUTHS, ROWS, no_likeness(0)), 0)
    answers: dict[int, bool | None] = dict.fromkeys(range(len(TRUTHS)))
    assert not check.pairs_to_ask(answers)
    assert not check.stands(answers)
    answers |= {pair: bool(TRUTHS[pair]) for pair in range(0, len(TRUTHS), 2)}
    assert check.stands(answers)
