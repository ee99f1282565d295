"""Calibrated decisions: what a correction fitted to half of some labelled real rows brings on the other half.

The embedded model is asked llm_prob and llm_probs about beer and Amazon reviews, Amazon products and Rotten
Tomatoes reviews, whose right answers the tables tell. Each half of the rows goes to
`relserve.calibrate_decisions` once, and the other half is then asked with and without the calibration. That
is done for five halvings; figures are their means, and `worst` is that of one. `by chance` is the error that
corrected probabilities would show on so many rows if they were exactly right.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import relserve
from benchmarks.claims import Lower
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.plots import Panel, curves
from relserve.call.decisions import YES_NO
from relserve.evaluation.calibration_scores import (
    Probabilities,
    ReliabilityBin,
    brier_score,
    calibration_error,
    reliability,
)
from training.tiny.real_rows import beer_sentiment

ROOMS = (
    "relserve/evaluation", "relserve/session/calibrated_calls.py", "relserve/tiny", "relserve/call",
)  # fmt: skip
HEADLINE = {
    "ece_after": Lower(by=0.01), "ece_before": Lower(by=0.02), "brier_after": Lower(by=0.01),
    "brier_before": Lower(by=0.01),
}  # fmt: skip

DRAWS = 200  # of made-up truths, for what chance gives
SPLITS = range(5)  # seeds of the halvings
PARTS = {"Electronics": "electronics", "Home&Kitchen": "home", "Computers&Accessories": "computer"}


class LabelledQuestion(NamedTuple):
    """A question about rows whose right answers are known.

    Attributes:
        choices: of llm_probs; those of llm_prob where they are yes and no.
        truths: the right choice of each row.
    """

    name: str
    template: str
    choices: tuple[str, ...]
    rows: pa.Table
    truths: list[str]

    def part(self, places: Sequence[int]) -> LabelledQuestion:
        """Some of the rows."""
        return self._replace(rows=self.rows.take(places), truths=[self.truths[i] for i in places])


def sentiments(folder: Path, num_rows: int) -> Iterator[LabelledQuestion]:
    """Reviews with good and bad ratings, asked in two ways.

    Of beer those from 15 of 20 and up to 8; of Amazon, which has one rating up to 2, those from 4 and below.
    """
    group = beer_sentiment(num_rows)
    assert group is not None
    beer = dict(zip(group.columns["review"], (label == "positive" for label in group.expected), strict=True))
    amazon = {
        row["review_content"]: float(row["rating"]) >= 4
        for row in _rows(folder / "amazon.csv")
        if row["review_content"].strip() and row["rating"].replace(".", "").isdigit()
    }
    for name, found in (("beer", beer), ("amazon", dict(list(amazon.items())[:num_rows]))):
        rows = pa.table({"review": list(found)})
        truths = ["positive" if is_good else "negative" for is_good in found.values()]
        yield LabelledQuestion(f"{name} sentiment", group.template, group.choices, rows, truths)
        truths = ["yes" if is_good else "no" for is_good in found.values()]
        yield LabelledQuestion(f"{name} praise", "Is this review positive? {review}", YES_NO, rows, truths)


def categories(folder: Path, num_rows: int) -> LabelledQuestion:
    """Amazon's products, by the three largest parts of the shop."""
    found = {row["product_name"]: row["category"].split("|")[0] for row in _rows(folder / "amazon.csv")}
    kept = {product: PARTS[part] for product, part in found.items() if part in PARTS}
    rows, truths = pa.table({"product": list(kept)[:num_rows]}), list(kept.values())[:num_rows]
    asked = "Which kind of product is this? {product}"
    return LabelledQuestion("amazon category", asked, tuple(PARTS.values()), rows, truths)


def titles(folder: Path, num_rows: int) -> LabelledQuestion:
    """Reviews of films, and whether they name the film."""
    found = [row for row in _rows(folder / "rotten.csv") if row["review_content"]][:num_rows]
    names = [row["movie_title"].casefold() in row["review_content"].casefold() for row in found]
    rows = pa.table(
        {"review": [row["review_content"] for row in found], "film": [row["movie_title"] for row in found]}
    )
    asked = 'Does this review name the film "{film}"? {review}'
    return LabelledQuestion("rotten title", asked, YES_NO, rows, ["yes" if each else "no" for each in names])


def probabilities_of(question: LabelledQuestion, calibration: str | None = None) -> Probabilities:
    """What the embedded model says of each row; NaN where it says nothing, as of a text that is too long."""
    given: dict[str, Any] = {"model": "tiny", "progress": False, "calibration": calibration}
    nothing = [float("nan")] * len(question.choices)
    if question.choices == YES_NO:
        answers = relserve.llm_prob(question.rows, question.template, **given).to_pylist()
        return np.array([nothing if p is None else [p, 1 - p] for p in answers])
    given["choices"] = list(question.choices)
    found = relserve.llm_probs(question.rows, question.template, **given).to_pylist()
    return np.array([nothing if each is None else [p for _, p in each] for each in found])


def corrected(question: LabelledQuestion, seed: int) -> tuple[Probabilities, list[str]]:
    """Of each row under a calibration that was fitted to the half without it; and by which methods."""
    order = np.random.default_rng(seed).permutation(len(question.truths))
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    choices = None if question.choices == YES_NO else list(question.choices)
    found, methods = np.empty((len(order), len(question.choices))), []
    for number, half in enumerate(halves):
        fitted, name = question.part(halves[1 - number].tolist()), f"half-{number}"
        report = relserve.calibrate_decisions(
            fitted.rows, question.template, truth=fitted.truths, name=name, choices=choices, model="tiny",
            progress=False,
        ).report  # fmt: skip
        methods.append(report.method)
        found[half] = probabilities_of(question.part(half.tolist()), name)
    return found, methods


def measure(question: LabelledQuestion) -> dict[str, Any]:
    """Brier score and calibration error before and after, of rows to which nothing was fitted."""
    before = probabilities_of(question)
    is_told = ~np.isnan(before).any(1)
    truths = np.array([question.choices.index(truth) for truth in question.truths])[is_told]
    before, splits = before[is_told], [corrected(question, seed) for seed in SPLITS]
    methods = Counter(method for _, used in splits for method in used)
    afters = [after[is_told] for after, _ in splits]
    bins_before, bins_after = reliability(before, truths), [reliability(each, truths) for each in afters]
    return {
        "question": question.name, "rows": len(truths),
        "methods": ", ".join(f"{num} {name}" for name, num in methods.most_common()),
        "brier_before": brier_score(before, truths),
        "brier_after": fmean(brier_score(each, truths) for each in afters),
        "ece_before": calibration_error(bins_before), "ece_after": fmean(map(calibration_error, bins_after)),
        "worst": max(map(calibration_error, bins_after)), "by chance": by_chance(afters[0]),
        "right_before": share_right(before, truths),
        "right_after": fmean(share_right(each, truths) for each in afters),
        "bins_before": bins_before, "bins_after": bins_after[0],
    }  # fmt: skip


def by_chance(probabilities: Probabilities) -> float:
    """The mean calibration error of probabilities that are exactly right, on so many rows."""
    random = np.random.default_rng(0)
    edges = probabilities.cumsum(1)
    draws = ((random.uniform(size=(len(edges), 1)) > edges[:, :-1]).sum(1) for _ in range(DRAWS))
    return float(np.mean([calibration_error(reliability(probabilities, truths)) for truths in draws]))


def share_right(probabilities: Probabilities, truths: np.ndarray) -> float:
    """How often the likeliest choice is right."""
    return float((probabilities.argmax(1) == truths).mean())


def plot(path: Path, measured: Sequence[dict[str, Any]]) -> None:
    """Share that is right against the probability said, before and after."""
    panels = []
    for each in measured:
        lines: dict[str, Any] = {"as sure as right": ([0, 1], [0, 1])}
        for when in ("before", "after"):
            bins: list[ReliabilityBin] = each[f"bins_{when}"]
            lines[when] = [one.said for one in bins], [one.true_share for one in bins]
        panels.append(Panel(f"{each['question']} ({each['rows']})", lines))
    curves(path, panels, "probability said", "share that is right")


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, folder = 400 if args.quick else 2000, data_folder() / "tables"
    with TemporaryDirectory() as place:
        os.environ["RELSERVE_CACHE_DIR"] = place  # for calibrations that nobody else is to find
        os.environ["RELSERVE_ANSWER_CACHE_MB"] = "100"  # a calibrated call asks no row anew
        questions = [*sentiments(folder, num_rows), categories(folder, num_rows), titles(folder, num_rows)]
        measured = [measure(question) for question in questions]
        relserve.close_engines()
    columns = [name for name in measured[0] if not name.startswith("bins")]
    print(table(columns, [[each[name] for name in columns] for each in measured]))
    figures = ("ece_before", "ece_after", "brier_before", "brier_after")
    headline: dict[str, Any] = {
        name: {each["question"]: round(each[name], 4) for each in measured} for name in figures
    }
    details = json.loads(json.dumps(measured))
    finish("decision_calibration", headline, details, args.quick, lambda path: plot(path, measured))


if __name__ == "__main__":
    main()
