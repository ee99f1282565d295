"""A cascade of a classification: the proxy's labels stand where they are surely right often enough.

A label is wrong if it is not the large model's. Rows are ranked by the proxy's confidence in its own label.
Those below a cut are asked, and those above it are sampled until at most (1 - accuracy) of all rows can be
wrong there. Bounds and sampling are those of `ends`, with one end and one target.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relserve.policies.cascading.counting import WrongRows
from relserve.policies.cascading.curve import curve
from relserve.policies.cascading.ends import LEAST_BATCH, pilot, sampled
from relserve.policies.cascading.plan import cuts_of, draws_likely, sums_before
from relserve.policies.cascading.policy import BoolArray, FloatArray, Targets
from relserve.policies.cascading.ranked import RankedRows
from relserve.policies.cascading.replayed import CascadeEnd, Course, IntArray, ReplayedCascade


@dataclass(frozen=True)
class LabelOutcome:
    """What a classification's cascade decides with the answers that there are."""

    labels: list[Any]
    """The large model's label where it was asked, else the proxy's; None where neither is decided yet."""
    upper: float
    """A row that was not asked has the proxy's label, if its confidence is at least this."""
    accuracy: float
    """At least this share of all rows has the large model's label, at the confidence; 0 before the end."""
    num_asked: int
    """Rows that the large model has answered."""


class AccuracyCascade:
    """Decides for one classification; the same labels, answers and seed give the same decision.

    Args:
        accuracy: the share of all rows that are to have the large model's label.
        confidence: the probability with which that holds, over the draws of the rows to ask.
        agrees: whether the large model's label (the first one) makes the proxy's right; mostly that both are
            the same.
    """

    def __init__(
        self,
        accuracy: float,
        confidence: float,
        seed: int,
        agrees: Callable[[Any, Any], bool] = operator.eq,
    ) -> None:
        self._agrees = agrees
        self._cascade = ReplayedCascade(
            "sampled_top", _sampled_top, Targets(accuracy, None, confidence), seed
        )

    def rows_to_ask(
        self, labels: Sequence[Any], confidences: FloatArray, answers: Mapping[int, Any]
    ) -> list[int]:
        """Indexes of the rows that the large model must answer next; none once the rest can be decided.

        Args:
            labels: the proxy's, [rows].
            confidences: its probability that its label is right, [rows]; NaN where it failed.
            answers: the large model's labels so far, by index of the row.
        """
        return self._cascade.rows_to_ask(confidences, self._agreed(labels, answers))

    def outcome(
        self, labels: Sequence[Any], confidences: FloatArray, answers: Mapping[int, Any]
    ) -> LabelOutcome:
        """The labels. The guarantee holds once `rows_to_ask` is empty."""
        found = self._cascade.outcome(confidences, self._agreed(labels, answers))
        stands = (confidences >= found.upper).tolist()
        given: list[Any] = [label if each else None for label, each in zip(labels, stands, strict=True)]
        for row, label in answers.items():
            given[row] = label
        return LabelOutcome(given, found.upper, found.recall, found.num_asked)

    def _agreed(self, labels: Sequence[Any], answers: Mapping[int, Any]) -> dict[int, bool]:
        return {row: self._agrees(label, labels[row]) for row, label in answers.items()}


def _sampled_top(scores: FloatArray, targets: Targets, random: np.random.Generator) -> Course:
    """The course; its decision's recall is the accuracy."""
    assert targets.precision is not None
    rows, num_rows = RankedRows(scores, random), len(scores)
    yield from rows.ask_unranked()
    if not len(rows.scores):
        return CascadeEnd(-np.inf, np.inf, 1.0, 1.0)
    yield from rows.ask(pilot(rows.scores, random))
    allowed, miss = (1 - targets.precision) * num_rows, 1 - targets.confidence
    cut, wrong = yield from _ask_below_cut(rows, allowed, miss)
    draws = random.permutation(rows.open(cut, len(rows.scores)))
    sequence = WrongRows(len(draws), allowed, wrong, miss)
    top = yield from sampled(rows, draws, sequence, lambda _: allowed, wrong=False)
    upper = rows.score_at(cut)
    return CascadeEnd(upper, upper, 0.0, 1 - top.wrong / num_rows)


def _ask_below_cut(
    rows: RankedRows, allowed: float, miss: float
) -> Generator[IntArray, BoolArray, tuple[int, float]]:
    """Asks the least sure rows up to the cheapest cut; gives the cut and the wrong rows likely above it."""
    cuts = cuts_of(rows.scores)
    while True:
        likely = curve(rows.scores, rows.asked, rows.answers)
        wrong_before = sums_before(np.where(rows.asked, 0.0, 1 - likely))[cuts]
        open_before = sums_before((~rows.asked).astype(float))[cuts]
        wrong_above, rows_above = wrong_before[-1] - wrong_before, open_before[-1] - open_before
        draws = draws_likely(rows_above, np.full(len(cuts), allowed), wrong_above, miss)
        best = int(np.argmin(open_before + draws))
        below = rows.open(0, int(cuts[best]))
        if not len(below):
            return int(cuts[best]), float(wrong_above[best])
        yield from rows.ask(below[: max(LEAST_BATCH, len(below) // 2)])
