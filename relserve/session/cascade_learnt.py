"""The rows of a cascade whose proxy is learnt from the large model's first answers."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relserve.call.answer_types import Answer
from relserve.call.option_values import Options
from relserve.call.vector_text import vector_of_text
from relserve.errors import Cancelled, ModelError
from relserve.policies.cascading.learnt import Known, LearntProxy, Numbers, learn
from relserve.policies.cascading.policy import FloatArray
from relserve.session.cascade_rows import CascadeResult, CascadeRows, FilterRows, LabelRows
from relserve.session.pending_replies import INTERRUPTED

LIBRARY, EXTRA = "sklearn", "pip install 'relserve[embed]'"
LEAST_TEXTS, MOST_WORDS = 3, 20_000  # texts that have a word which counts; words, the most frequent ones


class RowNumbers(NamedTuple):
    """What is known of rows: see `learn`."""

    numbers: Numbers
    known: Known


class LearntRows:
    """Rows that are first asked to learn from, then decided as those of any other proxy; see `CascadeRows`.

    Args:
        function: llm_filter, llm_classify or llm_score.
        rows: what is known of each row.
    """

    def __init__(self, function: str, rows: RowNumbers, options: Options, seed: int) -> None:
        self._function, self._options, self._seed = function, options, seed
        self._course = learn(*rows, np.random.default_rng([seed, 1]))
        self._batch: list[int] = []
        self._rows: CascadeRows | None = None
        self._send(None)

    def rows_to_ask(self, answers: Mapping[int, Answer]) -> list[int]:
        """See `CascadeRows`."""
        while self._rows is None:
            if unanswered := [row for row in self._batch if row not in answers]:
                return unanswered
            self._send([self._class_of(answers[row]) for row in self._batch])
        return self._rows.rows_to_ask(answers)

    def result(self, answers: Mapping[int, Answer]) -> CascadeResult:
        """See `CascadeRows`."""
        assert self._rows is not None, "rows are asked first"
        return self._rows.result(answers)

    def _send(self, answered: Sequence[Any] | None) -> None:
        try:
            batch = next(self._course) if answered is None else self._course.send(answered)
            self._batch = batch.tolist()
        except StopIteration as end:
            self._rows = self._decided(end.value)

    def _class_of(self, answer: Answer) -> Any:
        """What is learnt of an answer: scores that are nearly the same are the same."""
        if self._function != "llm_score" or answer.value is None:
            return answer.value
        return round(answer.value / self._step) * self._step

    @property
    def _step(self) -> float:
        """Between scores that are told apart."""
        return max((self._options.error or 0.0) / 2, 0.01)

    def _decided(self, learnt: LearntProxy) -> CascadeRows:
        if self._function == "llm_filter":
            yes = [float(each is True) for each in learnt.classes]
            return FilterRows(learnt.shares @ np.array(yes), self._options, self._seed)
        near = _near(learnt.classes, self._options.error)
        sure = learnt.shares @ near
        labels = [learnt.classes[best] for best in np.nan_to_num(sure).argmax(axis=1)]
        return LabelRows(labels, np.minimum(sure.max(axis=1), 1.0), self._options, self._seed)


def vectors_of(told: Sequence[Answer]) -> FloatArray:
    """The vectors of rows, as llm_embed gives them, [rows, numbers]; NaN for a row without one."""
    found = [None if each.value is None else vector_of_text(each.value) for each in told]
    missing = np.full(max((len(each) for each in found if each is not None), default=1), np.nan, np.float32)
    return np.array([missing if each is None else each for each in found], np.float64)


def vectors_and_words(vectors: FloatArray, texts: Sequence[str], cancel: threading.Event) -> RowNumbers:
    """Rows by the vectors that stand for their texts, and by the words of these.

    A question about a word ("hops") is answered by the word, one about the meaning by the vector.

    Args:
        vectors: [rows, numbers], 1 in length; NaN for a row that has none.

    Raises:
        Cancelled: `cancel` was set; the words of 100,000 texts take seconds.
    """
    known = np.asarray(~np.isnan(vectors).any(axis=1))
    words = _weights_of_words(_until(texts, cancel))
    if words is None:
        return RowNumbers(vectors, known)
    from scipy import sparse

    beside = sparse.hstack([sparse.csr_array(np.nan_to_num(vectors)), words], format="csr")
    return RowNumbers(beside / np.sqrt(2), known)


def _until(texts: Sequence[str], cancel: threading.Event) -> Iterator[str]:
    for text in texts:
        if cancel.is_set():
            raise Cancelled(INTERRUPTED)
        yield text


def _weights_of_words(texts: Iterable[str]) -> Any:
    """TF-IDF, [texts, words], 1 in length; None where no word is in several texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer(min_df=LEAST_TEXTS, max_features=MOST_WORDS, sublinear_tf=True)
        return weights.fit_transform(texts)
    except ValueError:
        return None


def numbers_of(told: Sequence[Answer]) -> RowNumbers:
    """The small model's scores and their squares, from 0 to 1, [rows, 2]."""
    scores = np.array([np.nan if each.value is None else each.value for each in told], np.float64)
    low, high = np.nanmin(scores), np.nanmax(scores)
    scores = (scores - low) / max(high - low, 1e-9)
    return RowNumbers(np.stack([scores, scores**2], axis=1), np.asarray(~np.isnan(scores)))


def check_installed() -> None:
    """See that what learns is there.

    Raises:
        ModelError: it is not.
    """
    if importlib.util.find_spec(LIBRARY) is None:
        raise ModelError(f"cascade: what learns from answers is not installed: {EXTRA}")


def _near(classes: Sequence[Any], error: float | None) -> FloatArray:
    """Which class makes which one right, [classes, classes]."""
    if error is None or classes == (None,):
        return np.eye(len(classes))
    found = np.array(classes, np.float64)
    return (np.abs(found[:, None] - found[None, :]) <= error + 1e-9).astype(np.float64)
