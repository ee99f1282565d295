"""BARGAIN as published: Zeighami et al., "Cut costs, not accuracy" (arXiv 2509.02896).

Its recall form samples uniformly, and takes the highest threshold of which a betting bound says that enough
of the sampled true rows score above it. Its precision form goes down from the top by a twentieth of the
rows at a time, and samples above each threshold without replacement until a betting bound decides whether
it is good enough; the first that is not ends the search. The paper has no joint form: each gets half of the
probability to miss here, and rows between the thresholds are asked. The bets are those of Waudby-Smith and
Ramdas, "Estimating means of bounded random variables by betting" (2024).
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np

from relserve.policies.cascading.policy import BoolArray, FloatArray, Targets
from relserve.policies.cascading.ranked import RankedRows
from relserve.policies.cascading.replayed import CascadeEnd, Course, IntArray

SAMPLE = 0.1  # of the rows, for the recall
LEAST_SAMPLE = 400  # the authors' default
NUM_THRESHOLDS = 20
STEP = 10  # rows that are asked at once above a threshold, at least
MOST_BET = 0.5


def bargain(scores: FloatArray, targets: Targets, random: np.random.Generator) -> Course:
    """The course of the cascade; see the module."""
    rows = RankedRows(scores, random)
    yield from rows.ask_unranked()
    num_rows = len(rows.scores)
    if not num_rows:
        return CascadeEnd(-np.inf, np.inf, 1.0, 1.0)
    miss, low, high = (1 - targets.confidence) / 2, 0, 0
    if targets.recall is not None:
        sample = random.permutation(num_rows)[: max(LEAST_SAMPLE, round(SAMPLE * num_rows))]
        answers = yield from rows.ask(sample)
        low = _lower(rows.scores, sample[answers], targets.recall, miss)
    if targets.precision is not None:
        high = yield from _upper(rows, random.permutation(num_rows), low, targets.precision, miss)
    yield from rows.ask(rows.open(low, high))
    return CascadeEnd(
        rows.score_at(low), rows.score_at(high), targets.precision or 0.0, targets.recall or 0.0
    )


def mean_is_above(values: FloatArray, target: float, miss: float, num_rows: int | None = None) -> bool:
    """Whether the mean of the population is at least `target`, by values from 0 to 1 in order of their draws.

    The capital of a bettor on values above the target reaches 1 / miss with probability `miss` at most
    where the mean is below it. Bets are predictable plug-in ones, half of the greatest that is safe at
    most.

    Args:
        num_rows: of the population, where draws were without replacement.
    """
    count = np.arange(1, len(values) + 1)
    sums = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    means = (0.5 + sums) / count
    spreads = np.concatenate([[0.25], (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)])[:-1]
    bets = np.sqrt(2 * math.log(2 / miss) / (count * np.log(count + 1) * spreads))
    left = np.full(len(values), target)
    if num_rows is not None:
        left = (num_rows * target - sums) / (num_rows - count + 1)
    if (left <= 0).any():
        return True  # what was drawn is enough already
    capital = np.cumsum(np.log1p(np.minimum(bets, MOST_BET / left) * (values - left)))
    return bool(capital.max(initial=-math.inf) >= -math.log(miss))


def _lower(scores: FloatArray, true_ranks: IntArray, recall: float, miss: float) -> int:
    """The highest rank above which the recall is high enough; 0 where none is."""
    best = 0
    for rank in np.unique(true_ranks):
        values = (true_ranks >= rank).astype(float)
        if values.mean() < recall or not mean_is_above(values, recall, miss):
            break
        best = int(rank)
    return int(np.searchsorted(scores, scores[best], "left"))


def _upper(
    rows: RankedRows, draws: IntArray, low: int, precision: float, miss: float
) -> Generator[IntArray, BoolArray, int]:
    """The lowest threshold above which the precision is high enough; the number of rows where none is."""
    num_rows = len(rows.scores)
    best = num_rows
    for rank in np.linspace(num_rows, low, NUM_THRESHOLDS + 1)[1:].astype(int):
        first = int(np.searchsorted(rows.scores, rows.scores[rank], "left"))
        if first >= best:
            continue
        is_good = yield from _is_precise(rows, draws[draws >= first], precision, miss)
        if not is_good:
            break
        best = first
    return max(best, low)


def _is_precise(
    rows: RankedRows, draws: IntArray, precision: float, miss: float
) -> Generator[IntArray, BoolArray, bool]:
    num_drawn = 0
    while num_drawn < len(draws):
        num_drawn = min(len(draws), num_drawn + max(STEP, num_drawn // 10))
        values = (yield from rows.ask(draws[:num_drawn])).astype(float)
        if mean_is_above(values, precision, miss, len(draws)):
            return True
        if mean_is_above(1 - values, 1 - precision, miss, len(draws)):
            return False
    return bool(values.mean() >= precision)
