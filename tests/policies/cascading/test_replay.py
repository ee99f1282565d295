"""A cascade is a function of scores, answers and seed."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.variants import NAMES, make
from tests.policies.cascading.filters import failing, good, run

TARGETS = Targets(0.9, 0.9, 0.95)


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", NAMES)
def test_an_object_made_anew_goes_on_where_another_stopped(name: str) -> None:
    rows = good(900, 0.3, 4)
    kept, answers = make(name, TARGETS, 5), {}
    while batch := kept.rows_to_ask(rows.scores, answers):
        assert make(name, TARGETS, 5).rows_to_ask(rows.scores, answers) == batch
        answers |= {row: bool(rows.truths[row]) for row in batch}
    assert (
        make(name, TARGETS, 5).outcome(rows.scores, answers).kept == kept.outcome(rows.scores, answers).kept
    ).all()


def test_answers_to_half_a_batch_leave_the_other_half() -> None:
    rows, cascade = good(900, 0.3, 4), make("sampled_ends", TARGETS, 5)
    batch = cascade.rows_to_ask(rows.scores, {})
    answers = {row: bool(rows.truths[row]) for row in batch[::2]}
    assert cascade.rows_to_ask(rows.scores, answers) == batch[1::2]


def test_another_seed_draws_other_rows() -> None:
    rows = good(900, 0.3, 4)
    assert make("sampled_ends", TARGETS, 0).rows_to_ask(rows.scores, {}) != make(
        "sampled_ends", TARGETS, 1
    ).rows_to_ask(rows.scores, {})


def test_a_changed_answer_is_replayed_and_not_mixed_with_the_former_course() -> None:
    rows, cascade = good(900, 0.3, 4), make("sampled_ends", TARGETS, 5)
    first = cascade.rows_to_ask(rows.scores, {})
    answers = {row: bool(rows.truths[row]) for row in first}
    cascade.rows_to_ask(rows.scores, answers)
    other = {row: not answer for row, answer in answers.items()}
    assert cascade.rows_to_ask(rows.scores, other) == make("sampled_ends", TARGETS, 5).rows_to_ask(
        rows.scores, other
    )


def test_until_it_has_ended_only_rows_that_the_large_model_keeps_are_kept() -> None:
    rows, cascade = good(900, 0.3, 4), make("sampled_ends", TARGETS, 5)
    answers = {row: bool(rows.truths[row]) for row in cascade.rows_to_ask(rows.scores, {})}
    outcome = cascade.outcome(rows.scores, answers)
    assert set(np.flatnonzero(outcome.kept)) == {row for row, answer in answers.items() if answer}
    assert (outcome.precision, outcome.recall, outcome.num_asked) == (1.0, 0.0, len(answers))


def test_answers_that_were_there_before_are_used_and_cost_nothing() -> None:
    rows, cascade = good(900, 0.3, 4), make("sampled_ends", TARGETS, 5)
    answers = {row: bool(rows.truths[row]) for row in range(0, 900, 3)}
    while batch := cascade.rows_to_ask(rows.scores, answers):
        assert not set(batch) & set(answers)
        answers |= {row: bool(rows.truths[row]) for row in batch}
    outcome = cascade.outcome(rows.scores, answers)
    assert (outcome.kept[::3] == rows.truths[::3]).all()


def test_a_row_without_a_score_is_always_asked() -> None:
    rows = failing(400, 0.3, 0)
    asked = run(make("sampled_ends", TARGETS, 0), rows).asked
    assert set(np.flatnonzero(np.isnan(rows.scores))) <= set(asked)


def test_an_unknown_name_lists_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no cascade 'gamcal'; there are: sampled_ends, bargain, supg"):
        make("gamcal", TARGETS, 0)


@pytest.mark.parametrize(
    ("precision", "recall", "confidence"),
    [(None, None, 0.9), (0.0, 0.9, 0.9), (0.9, 1.2, 0.9), (0.9, 0.9, 1.0)],
)
def test_targets_that_mean_nothing_are_refused(precision, recall, confidence) -> None:
    with pytest.raises(ValueError, match=r"must be|needs a target"):
        Targets(precision, recall, confidence)
