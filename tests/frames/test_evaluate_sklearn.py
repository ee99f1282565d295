"""`relserve.evaluate` on labelled tables: its figures are scikit-learn's of answers that are asked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import relserve
from benchmarks.decision_calibration import titles
from relserve.engines.local.engine import LocalEngine
from relserve.evaluation.intervals import measured_share
from relserve.examples import TABLES
from tests.modules import later
from training.tiny.corpus.heldout import EvalGroup
from training.tiny.real_rows import amazon_sentiment, data_folder

metrics = later("sklearn.metrics")
pytestmark = pytest.mark.long


class Labelled(NamedTuple):
    """Rows whose right answers are known, and what is asked about them."""

    data: Any
    template: str
    labels: Sequence[Any]
    function: str
    options: dict[str, Any]


def shipped(table: str, template: str, label: str, function: str) -> Labelled:
    data = pd.read_csv(TABLES["reviews"].with_stem(table)).dropna(subset=label)
    labels = data[label].tolist()
    options = {"choices": sorted(set(labels))} if function == "llm_classify" else {}
    return Labelled(data, template, labels, function, options)


def sentiment(read: Callable[[int], EvalGroup | None]) -> Labelled:
    group = read(200)
    if group is None:
        pytest.skip("the real tables are not here: set RELSERVE_DATA")
    choices = {"choices": ["positive", "negative"]}
    return Labelled(pd.DataFrame(group.columns), group.template, group.expected, "llm_classify", choices)


def rotten() -> Labelled:
    folder = data_folder()
    if folder is None:
        pytest.skip("the real tables are not here: set RELSERVE_DATA")
    each = titles(folder, 200)
    return Labelled(each.rows, each.template, each.truths, "llm_classify", {"choices": list(each.choices)})


# Several classes, yes and no, and numbers, of the shipped tables; two classes of real ones.
CASES: dict[str, Callable[[], Labelled]] = {
    "tickets": lambda: shipped("tickets", "What is this ticket about? {text}", "kind", "llm_classify"),
    "messages": lambda: shipped("messages", "Is this a complaint? {message}", "complaint", "llm_filter"),
    "reviews": lambda: shipped("reviews", "Rate from 1 to 5: {review}", "stars", "llm_int"),
    "amazon": lambda: sentiment(amazon_sentiment),
    "rotten": rotten,
}


@pytest.mark.parametrize("case", CASES)
def test_figures_are_those_of_scikit_learn(case: str, local_engine: LocalEngine) -> None:
    data, template, labels, function, options = CASES[case]()
    asked = {"engine": local_engine, "progress": False, "cache": False, **options}
    found = relserve.evaluate(data, template, label=list(labels), function=function, **asked)
    column = getattr(relserve, function)(data, template, **asked)
    answers = [
        None if pd.isna(each) else each
        for each in (column.to_pylist() if hasattr(column, "to_pylist") else column)
    ]
    right = np.array([given == label for given, label in zip(answers, labels, strict=True)])

    (summary,) = found.summary.to_pylist()
    assert summary["accuracy"] == pytest.approx(metrics.accuracy_score(np.ones(len(right)), right))
    assert summary["null_answers"] == answers.count(None)
    if function == "llm_int":
        kept = [(label, given) for label, given in zip(labels, answers, strict=True) if given is not None]
        expected = metrics.mean_absolute_error(*zip(*kept, strict=True))
        assert summary["mean_absolute_error"] == pytest.approx(expected)
    else:
        agrees_by_class(found, [str(label) for label in labels], [str(each) for each in answers])
    assert share_of_samples_that_cover(right) >= 0.92


def agrees_by_class(found: relserve.Evaluation, labels: list[str], answers: list[str]) -> None:
    classes = found.classes.to_pandas()
    names = [str(name) for name in found.runs[0].classes]
    scored = metrics.precision_recall_fscore_support
    *theirs, support = scored(labels, answers, labels=names, zero_division=np.nan)
    assert classes["support"].tolist() == support.tolist()
    for ours, scores in zip(("precision", "recall", "f1"), theirs, strict=True):
        np.testing.assert_allclose(classes[ours].astype(float), scores)
    counts = metrics.confusion_matrix(labels, answers, labels=[*names, "None"])[:-1]
    assert found.confusion.drop_columns(["run", "label"]).to_pandas().to_numpy().tolist() == counts.tolist()


def share_of_samples_that_cover(right: np.ndarray) -> float:
    """Of 1,000 samples of 50 rows, the share whose interval holds the accuracy of all rows."""
    draws = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        share = measured_share(int(draws.choice(right, 50).sum()), 50)
        covered += share is not None and share.low <= right.mean() <= share.high
    return covered / 1000
