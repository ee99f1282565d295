"""The cascade of a classification."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.policies.cascading.accuracy import AccuracyCascade, LabelOutcome
from relserve.policies.cascading.policy import FloatArray

LABELS = ("order", "refund", "other")


def _made(num_rows: int, sureness: str, seed: int) -> tuple[list[str], FloatArray, list[str]]:
    """The proxy's labels, its confidences, and the large model's labels."""
    random = np.random.default_rng(seed)
    confidences = random.beta(4, 1, num_rows)
    is_right = random.random(num_rows) < confidences
    if sureness == "upside down":
        confidences = 1 - confidences
    elif sureness == "constant":
        confidences = np.full(num_rows, 0.9)
    elif sureness == "failing":
        confidences[::7] = np.nan
    places = random.integers(0, 3, num_rows)
    truths = [LABELS[place] for place in places]
    labels = [
        LABELS[place if right else (place + 1) % 3] for place, right in zip(places, is_right, strict=True)
    ]
    return labels, confidences, truths


def _run(
    seed: int, labels: list[str], confidences: FloatArray, truths: list[str], accuracy: float
) -> LabelOutcome:
    cascade, answers = AccuracyCascade(accuracy, 0.9, seed), {}
    while batch := cascade.rows_to_ask(labels, confidences, answers):
        assert not set(batch) & set(answers)
        answers |= {row: truths[row] for row in batch}
    return cascade.outcome(labels, confidences, answers)


def _right(outcome: LabelOutcome, truths: list[str]) -> float:
    return float(np.mean([label == truth for label, truth in zip(outcome.labels, truths, strict=True)]))


@pytest.mark.cells(1)
@pytest.mark.parametrize("sureness", ["calibrated", "upside down", "constant", "failing"])
def test_the_accuracy_holds_whatever_the_proxy_is_sure_of(sureness: str) -> None:
    met = bounded = 0
    for seed in range(40):
        labels, confidences, truths = _made(600, sureness, seed // 10)
        outcome = _run(seed, labels, confidences, truths, 0.93)
        right = _right(outcome, truths)
        assert None not in outcome.labels
        met, bounded = met + (right >= 0.93), bounded + (right >= outcome.accuracy >= 0.93)
    assert min(met, bounded) >= 36


def test_a_good_proxy_saves_most_calls() -> None:
    labels, confidences, truths = _made(5000, "calibrated", 0)
    outcome = _run(0, labels, confidences, truths, 0.9)
    assert outcome.num_asked < 2500
    assert _right(outcome, truths) < 1


def test_before_the_end_only_asked_rows_have_a_label() -> None:
    labels, confidences, truths = _made(300, "calibrated", 0)
    cascade = AccuracyCascade(0.95, 0.9, 0)
    answers = {row: truths[row] for row in cascade.rows_to_ask(labels, confidences, {})}
    outcome = cascade.outcome(labels, confidences, answers)
    assert {row for row, label in enumerate(outcome.labels) if label is not None} == set(answers)
    assert outcome.accuracy == 0.0
