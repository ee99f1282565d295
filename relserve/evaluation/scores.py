"""The scores of a call: of all rows, and of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

from relserve.evaluation.graded import GradedRow, Measure
from relserve.evaluation.intervals import MeasuredShare, measured_share


class Score(NamedTuple):
    """What the answers to some rows are worth.

    Attributes:
        num_null: rows without an answer; they count as wrong.
        accuracy: share of right rows; None of no rows.
        commonest: share of the commonest label, which is the accuracy of giving it to every row; None of
            numbers, texts and no rows.
        macro_f1: mean of the classes' F1; None where there are none.
        mean_absolute_error: mean distance of answers from labels, over rows with an answer; None where they
            are no numbers, or all are NULL.
    """

    num_rows: int
    num_right: int
    num_null: int
    accuracy: MeasuredShare | None
    commonest: float | None
    macro_f1: float | None
    mean_absolute_error: float | None


class ClassScore(NamedTuple):
    """How well rows of one class are told from others.

    Attributes:
        support: rows with this label.
        num_given: rows with this answer.
        num_right: rows with both.
        precision: of the rows with this answer, the share that have the label; None where no row has it.
        recall: of the rows with this label, the share that have the answer; NULL answers count as missed.
            None where no row has it.
        f1: the harmonic mean of both; 0 where no row has both; None where no row has either.
    """

    name: Any
    support: int
    num_given: int
    num_right: int
    precision: MeasuredShare | None
    recall: MeasuredShare | None
    f1: float | None


def score(rows: Sequence[GradedRow], measure: Measure, classes: Sequence[Any] = ()) -> Score:
    """The score of all rows."""
    num_right = sum(row.is_right(measure) for row in rows)
    answered = [row for row in rows if row.answer is not None]
    f1s = [each.f1 for each in class_scores(rows, classes) if each.f1 is not None]
    error = commonest = None
    if measure is Measure.NUMBERS and answered:
        error = fmean(abs(row.answer - row.label) for row in answered)
    if measure is Measure.CLASSES and rows:
        commonest = max(Counter(row.label for row in rows).values()) / len(rows)
    return Score(
        len(rows), num_right, len(rows) - len(answered), measured_share(num_right, len(rows)), commonest,
        fmean(f1s) if f1s else None, error,
    )  # fmt: skip


def class_scores(rows: Sequence[GradedRow], classes: Sequence[Any]) -> list[ClassScore]:
    """The score of each class, in this order."""
    labels, answers = Counter(row.label for row in rows), Counter(row.answer for row in rows)
    both = Counter(row.label for row in rows if row.label == row.answer)
    return [_class_score(name, labels[name], answers[name], both[name]) for name in classes]


def _class_score(name: Any, support: int, num_given: int, num_right: int) -> ClassScore:
    precision, recall = measured_share(num_right, num_given), measured_share(num_right, support)
    f1 = 2 * num_right / (support + num_given) if support + num_given else None
    return ClassScore(name, support, num_given, num_right, precision, recall, f1)


def confusion(rows: Sequence[GradedRow], classes: Sequence[Any]) -> list[list[int]]:
    """Rows by label and answer: a line a label; its last number counts the NULL answers."""
    counts = Counter((row.label, row.answer) for row in rows)
    return [[counts[label, answer] for answer in (*classes, None)] for label in classes]
