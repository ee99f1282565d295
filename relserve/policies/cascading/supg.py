"""SUPG as published: Kang et al., "Approximate selection with guarantees using proxies" (VLDB 2020).

One sample, drawn with replacement by weights sqrt(score) mixed with a tenth of uniform ones (section 5.2),
gives both thresholds: the recall's by algorithm 4 (IS-CI-R), the precision's by algorithm 5 (IS-CI-P), each
at half of the probability to miss. Rows between them are asked, as LOTUS does, which is cheaper than the
paper's own joint query. The bounds are the paper's normal approximations (lemma 1), so its guarantee holds
for large samples only.
"""

from __future__ import annotations

import math

import numpy as np

from relserve.policies.cascading.policy import BoolArray, FloatArray, Targets
from relserve.policies.cascading.ranked import RankedRows
from relserve.policies.cascading.replayed import CascadeEnd, Course, IntArray

SAMPLE = 0.1  # of the rows: LOTUS's default, because the paper leaves it to the user
LEAST_SAMPLE = 200
UNIFORM = 0.1
STEP = 100  # sampled rows between two candidates for the upper threshold


def supg(scores: FloatArray, targets: Targets, random: np.random.Generator) -> Course:
    """The course of the cascade; see the module."""
    rows = RankedRows(scores, random)
    yield from rows.ask_unranked()
    num_rows = len(rows.scores)
    if not num_rows:
        return CascadeEnd(-np.inf, np.inf, 1.0, 1.0)
    weights = np.sqrt(rows.scores) + 1e-9
    chances = (1 - UNIFORM) * weights / weights.sum() + UNIFORM / num_rows
    num_sampled = min(num_rows, max(LEAST_SAMPLE, round(SAMPLE * num_rows)))
    sample = np.sort(random.choice(num_rows, num_sampled, p=chances))
    answers = yield from rows.ask(sample)
    miss = (1 - targets.confidence) / 2
    low = high = 0
    if targets.recall is not None:
        low = _lower(sample, answers, 1 / (num_rows * chances[sample]), targets.recall, miss)
    if targets.precision is not None:
        high = _upper(sample, answers, chances, targets.precision, miss)
    low, high = _at_cuts(rows.scores, low, max(low, high))
    yield from rows.ask(rows.open(low, high))
    return CascadeEnd(
        rows.score_at(low), rows.score_at(high), targets.precision or 0.0, targets.recall or 0.0
    )


def _lower(sample: IntArray, answers: BoolArray, masses: FloatArray, recall: float, miss: float) -> int:
    """The rank from which rows are kept: the recall's, raised by what both parts may be off (algorithm 4)."""
    from_top = np.cumsum((answers * masses)[::-1])[::-1]
    if not answers.any():
        return 0
    at = int(np.flatnonzero(from_top >= recall * from_top[0])[-1])
    is_above = np.arange(len(sample)) >= at
    most = _bounds(answers * masses * is_above, miss / 2)[1]
    least = max(_bounds(answers * masses * ~is_above, miss / 2)[0], 0.0)
    raised = most / (most + least) if most + least > 0 else 1.0
    if raised >= 1:
        return 0
    return int(sample[np.flatnonzero(from_top >= raised * from_top[0])[-1]])


def _upper(sample: IntArray, answers: BoolArray, chances: FloatArray, precision: float, miss: float) -> int:
    """The lowest candidate rank above which the precision's lower bound exceeds its target (algorithm 5)."""
    candidates = range(len(sample) - STEP, -1, -STEP)
    best = len(chances)
    for first in candidates:
        rank = int(sample[first])
        above = slice(first, None)
        masses = chances[rank:].sum() / ((len(chances) - rank) * chances[sample[above]])
        if _bounds(answers[above] * masses, miss / len(candidates))[0] > precision:
            best = min(best, rank)
    return best


def _bounds(values: FloatArray, miss: float) -> tuple[float, float]:
    """Bounds on a mean by the normal approximation (lemma 1)."""
    spread = float(np.std(values)) / math.sqrt(len(values)) * math.sqrt(2 * math.log(1 / miss))
    return float(np.mean(values)) - spread, float(np.mean(values)) + spread


def _at_cuts(scores: FloatArray, low: int, high: int) -> tuple[int, int]:
    """Moves the thresholds to where no two rows of one score are parted: the lower down, the upper up."""
    low = int(np.searchsorted(scores, scores[min(low, len(scores) - 1)], "left"))
    if high < len(scores) and (high == 0 or scores[high] == scores[high - 1]):
        high = int(np.searchsorted(scores, scores[high], "right")) if high else 0
    return low, max(low, high)
