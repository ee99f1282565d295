"""The filters of `benchmarks.cascades`: real texts, columns as the large model's answers, and proxies."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.provenance import ROOT

Scores = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Row = dict[str, str]

TINY_SCORES = ROOT / "build" / "cascades"
GOOD, WEAK = 2.9, 1.2  # distances of the made-up scores of true and false rows: AUC 0.98 and 0.80


class LabelledFilter(NamedTuple):
    """A filter over distinct texts."""

    name: str
    question: str
    """The template of llm_filter, with {text}."""
    texts: list[str]
    truths: Truths
    """What the large model is taken to answer."""


class FilterQuestion(NamedTuple):
    """How a filter's texts and answers come out of a table."""

    table: str
    name: str
    question: str
    text: Callable[[Row], str]
    truth: Callable[[Row], bool]


def _review(row: Row) -> str:
    return row["review/text"]


def _overall(row: Row) -> int:
    return int(row["review/overall"].partition("/")[0])


def _has(*words: str) -> Callable[[Row], bool]:
    return lambda row: any(word in _review(row).lower() for word in words)


QUESTIONS = (
    FilterQuestion(
        "beer", "liked", "Is this review positive? {text}", _review, lambda row: _overall(row) >= 14
    ),
    FilterQuestion("beer", "hops", "Does this review speak of hops? {text}", _review, _has("hop")),
    FilterQuestion(
        "beer", "chocolate", "Does this review speak of chocolate or coffee? {text}", _review,
        _has("chocolate", "coffee"),
    ),
    FilterQuestion(
        "beer", "disliked", "Is this review negative? {text}", _review, lambda row: _overall(row) <= 9
    ),
    FilterQuestion(
        "beer", "stout", "Is this beer a stout? {text}", _review, lambda row: "Stout" in row["beer/style"]
    ),
    FilterQuestion(
        "amazon", "electronics", "Is this product electronics? {text}", lambda row: row["product_name"],
        lambda row: row["category"].startswith("Electronics"),
    ),
    FilterQuestion(
        "amazon", "kitchen", "Is this product for home and kitchen? {text}", lambda row: row["product_name"],
        lambda row: row["category"].startswith("Home&Kitchen"),
    ),
    FilterQuestion(
        "rotten", "named", "Does this review name the film? {text}",
        lambda row: f"{row['movie_title']}: {row['review_content']}" if row["review_content"] else "",
        lambda row: row["movie_title"].casefold() in row["review_content"].casefold(),
    ),
)  # fmt: skip


def filters(folder: Path, most_rows: int, tables: Iterable[str]) -> Iterator[LabelledFilter]:
    """The filters of these tables, over the first distinct texts that are not empty."""
    for each in QUESTIONS:
        if each.table not in tables:
            continue
        with (folder / f"{each.table}.csv").open(encoding="utf-8", newline="") as file:
            found: dict[str, bool] = {}
            for row in csv.DictReader(file):
                if text := each.text(row).strip():
                    found.setdefault(text, each.truth(row))
        texts = list(found)[:most_rows]
        yield LabelledFilter(
            f"{each.table} {each.name}", each.question, texts, np.array([found[t] for t in texts])
        )


def made_up(truths: Truths, distance: float, random: np.random.Generator) -> Scores:
    """Calibrated scores: normal evidence at this distance between true and false rows."""
    share = truths.mean()
    evidence = random.normal(size=len(truths)) + distance * (truths - 0.5)
    return np.asarray(1 / (1 + np.exp(-np.log(share / (1 - share)) - distance * evidence)))


def inverted(truths: Truths, random: np.random.Generator) -> Scores:
    """A good proxy's scores upside down."""
    return 1 - made_up(truths, GOOD, random)


def constant(truths: Truths, random: np.random.Generator) -> Scores:
    """One score for all rows."""
    return np.full(len(truths), 0.5)


def hidden_cluster(truths: Truths, random: np.random.Generator) -> Scores:
    """A good proxy that is sure of the wrong answer for 15 % of the true rows, and for as many false ones."""
    scores, num = made_up(truths, GOOD, random), round(0.15 * truths.sum())
    low = random.choice(np.flatnonzero(truths), num, replace=False)
    high = random.choice(np.flatnonzero(~truths), min(num, int((~truths).sum())), replace=False)
    scores[low] = 0.001 * random.random(len(low))
    scores[high] = 1 - 0.001 * random.random(len(high))
    return scores


ADVERSARIAL = {"inverted": inverted, "constant": constant, "hidden cluster": hidden_cluster}


def auc(scores: Scores, truths: Truths) -> float:
    """The chance that a true row scores above a false one, rows without a score left out."""
    is_told = ~np.isnan(scores)
    scores, truths = scores[is_told], truths[is_told]
    _, ranks, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - (counts - 1) / 2)[ranks]
    num_true = int(truths.sum())
    return float((middle[truths].sum() - num_true * (num_true + 1) / 2) / (num_true * (~truths).sum()))


def tiny_scores(filter_: LabelledFilter) -> Scores:
    """What the embedded model says of each text, asked once and kept in build/; NaN where it says nothing."""
    kept = TINY_SCORES / f"{_fingerprint(filter_)}.npy"
    if not kept.is_file():
        import pyarrow as pa

        import relserve  # with vLLM behind it, which a run with kept scores does not start

        rows = pa.table({"text": filter_.texts})
        found = relserve.llm_prob(rows, filter_.question, model="tiny", progress=False).to_pylist()
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, np.array([np.nan if p is None else p for p in found], float))
    return np.asarray(np.load(kept))


def _fingerprint(filter_: LabelledFilter) -> str:
    return hashlib.sha256("\0".join([filter_.question, *filter_.texts]).encode()).hexdigest()[:24]
