"""A proxy learnt from the large model's answers: logistic regressions over numbers that each row has.

For texts the numbers are a vector that stands for the meaning, and a weight of each word.

However the rows to learn from are chosen, no bound rests on them: the cascade takes their answers as they
are, and draws from the other rows only.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relserve.policies.cascading.policy import FloatArray
from relserve.policies.cascading.replayed import IntArray

FIRST = 150  # rows drawn evenly
MORE = (100, 100)  # then rows of which the proxy is unsure, a round each
SHARES = (0.12, 0.07, 0.07)  # of the rows, at most
VARIANCE = 144.0  # of the prior on the weights: numbers of length 1 count as of length 12

Known = npt.NDArray[np.bool_]
Numbers = FloatArray | Any  # or a sparse array of scipy's, by rows; scipy has no types


class LearntProxy(NamedTuple):
    """What the proxy says of each row.

    Attributes:
        classes: the answers that it has seen; None alone where it has seen none.
        shares: their probabilities, [rows, classes]. NaN for the rows that it was learnt from, and those
            without numbers.
    """

    classes: tuple[Any, ...]
    shares: FloatArray


def learn(
    numbers: Numbers, known: Known, random: np.random.Generator
) -> Generator[IntArray, Sequence[Hashable | None], LearntProxy]:
    """Yields indexes of rows, is sent the large model's answers in their order, and returns the proxy.

    Args:
        numbers: of each row, [rows, numbers], about 1 in length. Answers that are sent: None where the
            large model failed.
        known: whether a row has numbers, [rows]; the large model is asked the others later.
    """
    usable = np.flatnonzero(known)
    rows = numbers if known.all() else numbers[usable]
    asked, answers = np.empty(0, np.int64), list[Any]()
    weights = np.ones(len(usable))
    learnt = _fitted(numbers, rows, usable, asked, answers)
    for num, share in zip((FIRST, *MORE), SHARES, strict=True):
        weights[np.isin(usable, asked)] = 0.0
        size = min(num, round(share * len(usable)), int((weights > 0).sum()))
        if size:
            new = random.choice(usable, size, replace=False, p=weights / weights.sum())
            answers += yield new
            asked = np.concatenate([asked, new])
            learnt = _fitted(numbers, rows, usable, asked, answers)
            surest = learnt.shares[usable].max(axis=1)
            weights = np.sqrt(surest * (1 - surest)) + 1e-6
    learnt.shares[asked] = np.nan
    return learnt


def _fitted(
    numbers: Numbers, rows: Numbers, usable: IntArray, asked: IntArray, answers: Sequence[Any]
) -> LearntProxy:
    """What follows from these answers for the usable rows, which are `rows`."""
    classes = tuple(sorted({each for each in answers if each is not None}))
    shares = np.full((numbers.shape[0], max(1, len(classes))), np.nan)
    shares[usable] = 1.0
    if len(classes) < 2:
        return LearntProxy(classes or (None,), shares)
    from sklearn.linear_model import LogisticRegression  # it takes a second
    from sklearn.multiclass import OneVsRestClassifier

    known = [at for at, each in enumerate(answers) if each is not None]
    places = [classes.index(answers[at]) for at in known]
    told = numbers[asked[known]]
    used = np.union1d(told.nonzero()[1], [0])  # a word that these lack weighs nothing, and takes time
    each = LogisticRegression(C=VARIANCE, max_iter=1000, solver="liblinear")  # the quickest with few rows
    model = OneVsRestClassifier(each).fit(told[:, used], places)
    shares[usable] = model.predict_proba(rows[:, used])
    return LearntProxy(classes, shares)
