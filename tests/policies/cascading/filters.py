"""Made-up filters: scores of a proxy, and what the large model says of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relserve.policies.cascading.policy import FilterCascade, Outcome, Targets
from relserve.policies.cascading.variants import make

Scores = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


class Filter(NamedTuple):
    """One filter."""

    scores: Scores
    truths: Truths


def good(num_rows: int, share_true: float, seed: int) -> Filter:
    """Calibrated scores with an AUC of about 0.98."""
    random = np.random.default_rng(seed)
    truths = random.random(num_rows) < share_true
    odds = np.log(share_true / (1 - share_true)) + 2.9 * (random.normal(size=num_rows) + 2.9 * (truths - 0.5))
    return Filter(1 / (1 + np.exp(-odds)), truths)


def inverted(num_rows: int, share_true: float, seed: int) -> Filter:
    """The likelier true, the lower the score."""
    scores, truths = good(num_rows, share_true, seed)
    return Filter(1 - scores, truths)


def constant(num_rows: int, share_true: float, seed: int) -> Filter:
    """Every row has the same score."""
    scores, truths = good(num_rows, share_true, seed)
    return Filter(np.full_like(scores, 0.5), truths)


def hidden_cluster(num_rows: int, share_true: float, seed: int, hidden: float = 0.15) -> Filter:
    """Right but for a cluster of true rows with the lowest scores, and one of false rows with the highest.

    Each has the share `hidden` of as many rows as are true.
    """
    scores, truths = good(num_rows, share_true, seed)
    random = np.random.default_rng(seed + 1)
    low = random.random(num_rows) < hidden * share_true
    high = ~low & (random.random(num_rows) < hidden * share_true)
    scores = np.where(
        low, 0.001 * random.random(num_rows), np.where(high, 1 - 0.001 * random.random(num_rows), scores)
    )
    return Filter(scores, (truths | low) & ~high)


def failing(num_rows: int, share_true: float, seed: int) -> Filter:
    """A proxy without a score for every tenth row, and with few different scores."""
    scores, truths = good(num_rows, share_true, seed)
    scores = scores.round(2)
    scores[::10] = np.nan
    return Filter(scores, truths)


MAKERS: tuple[Callable[[int, float, int], Filter], ...] = (good, inverted, constant, hidden_cluster, failing)


class Finished(NamedTuple):
    """A cascade at its end."""

    outcome: Outcome
    asked: list[int]
    precision: float
    recall: float


def run(cascade: FilterCascade, rows: Filter) -> Finished:
    """Answers what the cascade asks until it asks no more."""
    answers: dict[int, bool] = {}
    asked: list[int] = []
    while batch := cascade.rows_to_ask(rows.scores, answers):
        asked += batch
        answers |= {row: bool(rows.truths[row]) for row in batch}
    outcome = cascade.outcome(rows.scores, answers)
    right = int((outcome.kept & rows.truths).sum())
    kept, true = int(outcome.kept.sum()), int(rows.truths.sum())
    return Finished(outcome, asked, right / kept if kept else 1.0, right / true if true else 1.0)


def share_met(
    name: str,
    makes: Callable[[int, float, int], Filter],
    num_rows: int,
    share_true: float,
    targets: Targets,
    runs: int,
) -> float:
    """How often both targets are met, over so many draws of the rows to ask."""
    met = 0
    for seed in range(runs):
        end = run(make(name, targets, seed), makes(num_rows, share_true, seed // 10))
        met += end.precision >= (targets.precision or 0) and end.recall >= (targets.recall or 0)
    return met / runs
