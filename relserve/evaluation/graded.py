"""Answers beside labels: which are right, and which are the worst."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

_YES, _NO = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")


class Measure(StrEnum):
    """How an answer is compared with a label."""

    CLASSES = "classes"  # equal or not; each class has its precision and recall
    NUMBERS = "numbers"  # equal or not, and how far apart
    TEXTS = "texts"  # equal but for white space


class GradedRow(NamedTuple):
    """One row.

    Attributes:
        place: of the row in the data, from 0.
        label: what is right.
        answer: what came; None is NULL.
        confidence: the probability that the model gave to the answer; None where it was not told.
        why: why there is no answer; None where there is one, or where an input was NULL.
    """

    place: int
    label: Any
    answer: Any
    confidence: float | None = None
    why: str | None = None

    def is_right(self, measure: Measure) -> bool:
        """Whether the answer is the label; NULL never is."""
        if self.answer is None:
            return False
        if measure is Measure.NUMBERS:
            return math.isclose(self.answer, self.label, rel_tol=1e-9, abs_tol=1e-9)
        if measure is Measure.TEXTS:
            return str(self.answer).split() == str(self.label).split()
        return bool(self.answer == self.label)


def worst(rows: Iterable[GradedRow], measure: Measure, most: int) -> list[GradedRow]:
    """The wrong rows, worst first, and NULL last.

    Numbers that are furthest from their labels come first; of other answers those of which the model was
    surest, where that is known.
    """
    wrong = [row for row in rows if not row.is_right(measure)]
    return sorted(wrong, key=lambda row: _badness(row, measure))[:most]


def _badness(row: GradedRow, measure: Measure) -> tuple[bool, float, int]:
    if row.answer is None:
        return True, 0.0, row.place
    is_number = measure is Measure.NUMBERS
    return False, -abs(row.answer - row.label) if is_number else -(row.confidence or 0.0), row.place


def yes_or_no(label: Any) -> bool:
    """What a label says that is true or false, yes or no, 1 or 0.

    Raises:
        ValueError: it is none of them.
    """
    text = str(label).strip().casefold().removesuffix(".0")
    if text not in _YES + _NO:
        raise ValueError(text)
    return text in _YES
