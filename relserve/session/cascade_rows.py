"""The rows of one round of a cascade: what the small model said of them, and what follows for the others.

Which rows to ask, and what is promised of those that are not, is for `relserve.policies.cascading`.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from relserve.call.answer_types import Answer
from relserve.call.option_values import Options
from relserve.errors import Failure, FailureKind
from relserve.policies.cascading.accuracy import AccuracyCascade
from relserve.policies.cascading.policy import FloatArray, Outcome, Targets
from relserve.policies.cascading.variants import DEFAULT, make

SHARE = 0.95  # each target of a call that says nothing of it
_FAILED = ""  # in place of a label or a score: no choice is empty
_CUTS = (FailureKind.CAP, FailureKind.DEADLINE, FailureKind.IN_BATCH)


class CutShort(Exception):
    """Rows were cut short, see `cut_short`: nothing more is asked.

    Args:
        failure: theirs.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class CascadeResult(NamedTuple):
    """What a cascade decided.

    Attributes:
        values: of all rows.
        told: the thresholds and what is reached, in words.
        num_asked: rows that the large model has answered.
    """

    values: Sequence[Any]
    told: str
    num_asked: int


class CascadeRows(Protocol):
    """The rows of a round, whom the large model answers until the others can be decided."""

    def rows_to_ask(self, answers: Mapping[int, Answer]) -> list[int]:
        """Indexes of the rows that the large model must answer next; none: see `result`."""

    def result(self, answers: Mapping[int, Answer]) -> CascadeResult:
        """The values. A row that the large model failed counts as one that the small model got wrong."""


class FilterRows:
    """Rows of llm_filter.

    Args:
        scores: the probability of yes for each row; NaN where nothing tells it.
    """

    def __init__(self, scores: FloatArray, options: Options, seed: int) -> None:
        self._scores, self._targets = scores, targets_of(options)
        self._cascade = make(DEFAULT, self._targets, seed)

    def rows_to_ask(self, answers: Mapping[int, Answer]) -> list[int]:
        """See `CascadeRows`."""
        return self._cascade.rows_to_ask(self._scores, _kept(answers))

    def result(self, answers: Mapping[int, Answer]) -> CascadeResult:
        """See `CascadeRows`."""
        found = self._cascade.outcome(self._scores, _kept(answers))
        told = f"true from {found.upper:.3g}, false below {found.lower:.3g}; {reached(found, self._targets)}"
        return CascadeResult(found.kept.tolist(), told, found.num_asked)


class LabelRows:
    """Rows of llm_classify, and of llm_score: a score is right within the call's `error`.

    Args:
        labels: what the small model gives each row.
        sure: its probability that this is right; NaN where nothing tells it.
    """

    def __init__(self, labels: Sequence[Any], sure: FloatArray, options: Options, seed: int) -> None:
        self._labels, self._sure, self._error = labels, sure, options.error
        agrees = operator.eq if self._error is None else self._is_near
        self._cascade = AccuracyCascade(options.accuracy or SHARE, options.confidence or SHARE, seed, agrees)

    def rows_to_ask(self, answers: Mapping[int, Answer]) -> list[int]:
        """See `CascadeRows`."""
        return self._cascade.rows_to_ask(self._labels, self._sure, _labels(answers))

    def result(self, answers: Mapping[int, Answer]) -> CascadeResult:
        """See `CascadeRows`."""
        found = self._cascade.outcome(self._labels, self._sure, _labels(answers))
        noun, near = ("labels", "") if self._error is None else ("scores", f" within {self._error:g}")
        told = f"{noun} stand from {found.upper:.3g}; accuracy{near} at least {found.accuracy:.2f}"
        return CascadeResult(found.labels, told, found.num_asked)

    def _is_near(self, score: Any, told: Any) -> bool:
        return _FAILED != score and told is not None and abs(score - told) <= (self._error or 0.0) + 1e-9


def rows_told(function: str, told: Sequence[Answer], options: Options, seed: int) -> CascadeRows:
    """Rows of which the small model told its probabilities.

    Args:
        function: llm_filter or llm_classify.
        told: the probability of yes, or those of the choices as JSON, or a failure.
    """
    if function == "llm_filter":
        scores = [np.nan if each.value is None else each.value for each in told]
        return FilterRows(np.array(scores, np.float64), options, seed)
    shares = [{_FAILED: np.nan} if each.value is None else json.loads(each.value) for each in told]
    labels = [max(each, key=each.__getitem__) for each in shares]
    return LabelRows(labels, np.array([max(each.values()) for each in shares], np.float64), options, seed)


def targets_of(options: Options) -> Targets:
    """What a filter's cascade promises: one target alone where it names one, else both."""
    precision, recall = options.precision, options.recall
    if precision is None and recall is None:
        precision = recall = SHARE
    return Targets(precision, recall, options.confidence or SHARE)


def reached(found: Outcome, targets: Targets) -> str:
    """What is reached of the targets, in words."""
    both = (("precision", found.precision, targets.precision), ("recall", found.recall, targets.recall))
    return ", ".join(f"{name} at least {bound:.2f}" for name, bound, wanted in both if wanted is not None)


def cut_short(answers: Iterable[Answer]) -> Failure | None:
    """Why a row did not get to the model, or its answer was not waited for; None: none is such.

    Then a target is not known to be reached, so that nothing decides the rows that were not asked.
    """
    failures = (each.failure for each in answers)
    return next((each for each in failures if each is not None and each.kind in _CUTS), None)


def check_whole(answers: Iterable[Answer]) -> None:
    """See that none of these was cut short.

    Raises:
        CutShort: one was.
    """
    if cut := cut_short(answers):
        raise CutShort(cut)


def failed_all(answers: Collection[Answer]) -> Answer | None:
    """The failure of rows that were not asked, where each that was asked failed."""
    has_answer = any(each.failure is None for each in answers)
    return None if has_answer else next(iter(answers), None)


def _kept(answers: Mapping[int, Answer]) -> dict[int, bool]:
    return {row: answer.value is True for row, answer in answers.items()}


def _labels(answers: Mapping[int, Answer]) -> dict[int, Any]:
    return {row: _FAILED if answer.value is None else answer.value for row, answer in answers.items()}
