"""The proxy `embedding` of `benchmarks.cascades`, as `cascade := 'embedding'` learns it."""

from __future__ import annotations

import importlib.util
from threading import Event

import numpy as np
import numpy.typing as npt

import relserve
from benchmarks.cascade_filters import Scores, Truths
from relserve.policies.cascading import learnt
from relserve.session.cascade_learnt import RowNumbers, vectors_and_words

Vectors = npt.NDArray[np.float32]


def is_installed() -> bool:
    """Whether the extra `embed` is there."""
    return all(importlib.util.find_spec(name) is not None for name in ("sklearn", "wordllama"))


def vectors_of(texts: list[str]) -> Vectors:
    """The vector of each text, as llm_embed gives it: [texts, 256]."""
    with relserve.connect(model="scripted", cache=False) as con:
        found = con.execute("SELECT llm_embed(t) FROM (SELECT unnest(?) AS t)", [texts]).fetchall()
    return np.array([vector for (vector,) in found], np.float32)


def numbers_of(texts: list[str]) -> RowNumbers:
    """What the regression learns from: the vectors and the words of texts."""
    return vectors_and_words(vectors_of(texts).astype(np.float64), texts, Event())


def learn(rows: RowNumbers, truths: Truths, random: np.random.Generator) -> Scores:
    """Scores of all rows; those whose answers they were learnt from have NaN."""
    course = learnt.learn(*rows, random)
    batch = next(course)
    while True:
        try:
            batch = course.send(truths[batch].tolist())
        except StopIteration as end:
            yes = [float(each) for each in end.value.classes]
            return np.asarray(end.value.shares @ np.array(yes))
