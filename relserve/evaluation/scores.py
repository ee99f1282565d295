"""The scores of a call: of all rows, of each class, and of two calls on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
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


class PairedRows(NamedTuple):
    """Rows by which of two calls is right."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def p_value(self) -> float:
        """McNemar's exact test, two-sided: how often chance alone sets two equally good calls so far apart.

        McNemar (1947), "Note on the sampling error of the difference between correlated proportions": rows
        on which both are right or wrong tell nothing; of the others each call has half, by a fair coin.
        """
        flips, fewer = self.only_first + self.only_second, min(self.only_first, self.only_second)
        # C(n, k) from C(n, k - 1), in whole numbers: no float holds them for thousands of rows
        ways = accumulate(range(1, fewer + 1), lambda c, k: c * (flips - k + 1) // k, initial=1)
        return min(1.0, 2 * sum(ways) / (1 << flips))


def paired(first: Sequence[bool], second: Sequence[bool]) -> PairedRows:
    """Count the rows, in the same order for both, by who is right."""
    both = list(zip(first, second, strict=True))
    return PairedRows(
        both.count((True, True)), both.count((True, False)), both.count((False, True)),
        both.count((False, False)),
    )  # fmt: skip
