"""How many calls of the large model a cascade saves at joint targets, beside SUPG and BARGAIN.

Filters over real texts (beer, amazon, rotten), the rows' own columns as the large model's answers, so that
none is needed. Proxies: `tiny` (the embedded model's probabilities), `embedding` (logistic regression over
word vectors and words, learnt from answers that count as calls), and made-up ones: good (AUC 0.98,
calibrated), weak (0.80), and three that mislead. Each cell draws anew so many times. `met` is the share of
runs in which precision and recall both reach their target, at confidence 0.95. A published form is given as
calls, and its share of met runs where that is below 0.95.

`met_share` is the least of all cells. `calls_saved_..` is rows by calls over all cells of that proxy,
`embedding` where its AUC is 0.95 or more. `over_published` is the mean over cells of the fewest calls of a
published form by ours; cells of misleading proxies are left out. `worst_adversarial` is the most calls of
any run with a misleading proxy, by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from benchmarks import cascade_embedding as embedding
from benchmarks.cascade_filters import (
    ADVERSARIAL,
    GOOD,
    WEAK,
    LabelledFilter,
    Scores,
    Truths,
    auc,
    filters,
    made_up,
    tiny_scores,
)
from benchmarks.claims import Higher, Lower
from benchmarks.common import arguments, data_folder, finish, table
from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.variants import DEFAULT, NAMES, VARIANTS
from relserve.session.cascade_learnt import RowNumbers

ROOMS = ("relserve/policies/cascading",)
HEADLINE = {
    "met_share": Higher(by=0.05), "calls_saved_good": Higher(0.1), "calls_saved_embedding": Higher(0.15),
    "over_published": Higher(0.1), "worst_adversarial": Lower(by=0.05),
}  # fmt: skip

TARGETS = (0.90, 0.95)
CONFIDENCE = 0.95
REPETITIONS = 200
PUBLISHED_REPETITIONS = 50  # enough for their mean calls

ScoresOf = Callable[[np.random.Generator], Scores]


class Run(NamedTuple):
    """One draw."""

    calls: float
    """Rows that were asked, by all rows."""
    is_met: bool


class Cell(NamedTuple):
    """One filter, proxy and target."""

    filter: str
    proxy: str
    target: float
    rows: int
    auc: float
    runs: dict[str, list[Run]]

    def calls(self, name: str) -> float:
        """The mean of a form's calls by rows."""
        return fmean(run.calls for run in self.runs[name])

    def met(self, name: str) -> float:
        """The share of runs in which both targets were met."""
        return fmean(run.is_met for run in self.runs[name])

    @property
    def over_published(self) -> float:
        """The fewest calls of a published form, by ours."""
        return min(self.calls(name) for name in NAMES if name != DEFAULT) / self.calls(DEFAULT)


def proxies(
    filter_: LabelledFilter, numbers: RowNumbers | None, with_tiny: bool
) -> Iterator[tuple[str, ScoresOf]]:
    """The filter's proxies by name."""
    truths = filter_.truths
    if with_tiny:
        scores = tiny_scores(filter_)
        yield "tiny", lambda random: scores
    if numbers is not None:
        yield "embedding", lambda random: embedding.learn(numbers, truths, random)
    yield "good", lambda random: made_up(truths, GOOD, random)
    yield "weak", lambda random: made_up(truths, WEAK, random)
    for name, make in ADVERSARIAL.items():
        yield name, lambda random, make=make: make(truths, random)  # type: ignore[misc]


def run_of(name: str, scores: Scores, truths: Truths, target: float, seed: int) -> Run:
    """One course to its end, the truths as answers."""
    course = VARIANTS[name](scores, Targets(target, target, CONFIDENCE), np.random.default_rng([seed, 1]))
    asked = np.zeros(len(truths), bool)
    try:
        batch = next(course)
        while True:
            asked[batch] = True
            batch = course.send(truths[batch])
    except StopIteration as end:
        upper = end.value.upper
    kept = np.where(asked, truths, scores >= upper)
    right, num_kept, num_true = int((kept & truths).sum()), int(kept.sum()), int(truths.sum())
    is_met = right >= target * num_kept and right >= target * num_true
    return Run(float(asked.mean()), is_met)


def measure(filter_: LabelledFilter, proxy: str, scores_of: ScoresOf, repetitions: int) -> list[Cell]:
    """The cells of a filter and proxy: all forms see the same scores, drawn anew each time."""
    runs: dict[tuple[float, str], list[Run]] = {(t, name): [] for t in TARGETS for name in NAMES}
    areas = []
    for seed in range(repetitions):
        scores = scores_of(np.random.default_rng([seed, 0]))
        areas.append(auc(scores, filter_.truths))
        for (target, name), found in runs.items():
            if name == DEFAULT or seed < PUBLISHED_REPETITIONS:
                found.append(run_of(name, scores, filter_.truths, target, seed))
    return [
        Cell(
            filter_.name, proxy, target, len(filter_.texts), fmean(areas),
            {name: runs[target, name] for name in NAMES},
        )
        for target in TARGETS
    ]  # fmt: skip


def cells(folder: Path, quick: bool) -> Iterator[Cell]:
    """All cells."""
    if not embedding.is_installed():
        print("no proxy `embedding`: the extra relserve[embed] is not installed")
    numbers: dict[str, RowNumbers] = {}
    found = filters(folder, 1500 if quick else 10**6, ("beer",) if quick else ("beer", "amazon", "rotten"))
    for filter_ in found:
        if quick and filter_.name not in ("beer hops", "beer stout"):
            continue
        source = filter_.name.partition(" ")[0]
        if embedding.is_installed() and source not in numbers:
            numbers[source] = embedding.numbers_of(filter_.texts)
        for proxy, scores_of in proxies(filter_, numbers.get(source), with_tiny=not quick):
            yield from measure(filter_, proxy, scores_of, 20 if quick else REPETITIONS)


def headline_of(measured: Sequence[Cell]) -> dict[str, Any]:
    """The figures of the last line."""
    fair = [cell for cell in measured if cell.proxy not in ADVERSARIAL]
    adversarial = [cell for cell in measured if cell.proxy in ADVERSARIAL]
    return {
        "met_share": round(min(cell.met(DEFAULT) for cell in measured), 3),
        "calls_saved_good": saved([cell for cell in fair if cell.proxy == "good"]),
        "calls_saved_embedding": saved(
            [cell for cell in fair if cell.proxy == "embedding" and cell.auc >= 0.95]
        ),
        "over_published": round(fmean(cell.over_published for cell in fair), 2),
        "worst_adversarial": max(run.calls for cell in adversarial for run in cell.runs[DEFAULT]),
    }


def saved(some: Sequence[Cell]) -> float | None:
    """Rows by calls over all these cells; None where there is none."""
    if not some:
        return None
    return round(sum(cell.rows for cell in some) / sum(cell.rows * cell.calls(DEFAULT) for cell in some), 2)


def row_of(cell: Cell) -> list[Any]:
    """The cell's line of the table."""
    published = [published_of(cell, name) for name in NAMES if name != DEFAULT]
    ours = cell.calls(DEFAULT)
    return [
        cell.filter, cell.proxy, cell.target, cell.rows, round(cell.auc, 2), round(ours, 3), round(1 / ours,
        2), cell.met(DEFAULT), *published, round(cell.over_published, 2), ]  # fmt: skip


def published_of(cell: Cell, name: str) -> str:
    """A published form's calls, and its share of met runs where that is too small."""
    met = cell.met(name)
    return f"{cell.calls(name):.3f}" + (f" (met {met:.2f})" if met < CONFIDENCE else "")


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    measured = list(cells(data_folder() / "tables", args.quick))
    columns = ["filter", "proxy", "target", "rows", "AUC", "calls", "saved", "met"]
    columns += [*NAMES[1:], "over published"]
    rows = [row_of(cell) for cell in measured]
    print(table(columns, rows))
    details = [dict(zip(columns, row, strict=True)) for row in rows]
    finish("cascades", headline_of(measured), details, args.quick)


if __name__ == "__main__":
    main()
