"""Scores on rows whose figures were computed by hand (scikit-learn 1.9.1 gives the same)."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.evaluation.graded import GradedRow, Measure, worst
from relserve.evaluation.scores import class_scores, confusion, score

CLASSES = ("cat", "dog", "owl", "yak")
LABELS = ["cat", "cat", "cat", "cat", "dog", "dog", "dog", "owl", "owl", "owl"]
ANSWERS = ["cat", "cat", "dog", None, "dog", "dog", "cat", "owl", None, "dog"]


def rows(
    labels: list[Any], answers: list[Any], confidences: list[float | None] | None = None
) -> list[GradedRow]:
    sure = confidences or [None] * len(labels)
    return [GradedRow(i, *each) for i, each in enumerate(zip(labels, answers, sure, strict=True))]


def test_null_answers_are_wrong_and_counted() -> None:
    found = score(rows(LABELS, ANSWERS), Measure.CLASSES, CLASSES)
    assert (found.num_rows, found.num_right, found.num_null) == (10, 5, 2)
    assert found.accuracy is not None
    assert found.accuracy.value == 0.5
    assert found.commonest == 0.4
    assert found.macro_f1 == pytest.approx((4 / 7 + 4 / 7 + 1 / 2) / 3)


def test_classes_have_precision_recall_and_support() -> None:
    found = {each.name: each for each in class_scores(rows(LABELS, ANSWERS), CLASSES)}
    shares = {
        name: (each.support, each.num_given, each.precision and each.precision.value,
               each.recall and each.recall.value, each.f1)
        for name, each in found.items()
    }  # fmt: skip
    assert shares == {
        "cat": (4, 3, 2 / 3, 1 / 2, 4 / 7),
        "dog": (3, 4, 1 / 2, 2 / 3, 4 / 7),
        "owl": (3, 1, 1.0, 1 / 3, 1 / 2),
        "yak": (0, 0, None, None, None),  # neither a label nor an answer: nothing is known of it
    }


def test_the_confusion_has_a_column_for_null() -> None:
    assert confusion(rows(LABELS, ANSWERS), CLASSES) == [
        [2, 1, 0, 0, 1], [1, 2, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0],
    ]  # fmt: skip


def test_numbers_have_a_mean_error_over_rows_with_an_answer() -> None:
    found = score(rows([3, 5, 0.3, 7], [3, 2, 0.1 + 0.2, None]), Measure.NUMBERS)
    assert (found.num_right, found.num_null, found.mean_absolute_error) == (2, 1, pytest.approx(1.0))
    assert (found.commonest, found.macro_f1) == (None, None)


def test_texts_are_equal_but_for_white_space() -> None:
    found = score(rows(["Acme  Corp", "a b", "x", ""], [" Acme\nCorp ", "A b", None, ""]), Measure.TEXTS)
    assert (found.num_right, found.num_null) == (2, 1)


def test_no_rows_have_no_score() -> None:
    assert score([], Measure.CLASSES, CLASSES) == (0, 0, 0, None, None, None, None)


def test_the_surest_mistakes_come_first_and_null_last() -> None:
    graded = rows([1, 1, 1, 1, 1], [0, None, 0, 1, 0], [0.5, 0.0, 0.9, 0.99, None])
    assert [row.place for row in worst(graded, Measure.CLASSES, 20)] == [2, 0, 4, 1]
    assert [row.place for row in worst(graded, Measure.CLASSES, 1)] == [2]


def test_numbers_that_are_furthest_off_come_first() -> None:
    graded = rows([10, 10, 10, 10], [11, None, -5, 10])
    assert [row.place for row in worst(graded, Measure.NUMBERS, 20)] == [2, 0, 1]
