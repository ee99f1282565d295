"""Sampled ends: asks the rows in the middle outright, and samples both ends until each is proved good enough.

An answered row is right. So only rows that nobody asked can be wrong: true ones below the lower threshold,
and false ones above the upper threshold. With `kept` rows in the result, `found` of them known to be true,
it is enough that

    false above <= (1 - precision) kept          true below <= (1 / recall - 1) (kept - false above)

1. A pilot over all ranks shows how likely a row is to be true (`curve`).
2. The plan has the two cuts at which the least rows are likely to be asked (`plan`). Half of the middle is
   asked, then the plan is made anew, until nothing is left between the cuts. This may look at all answers
   as often as it likes, because no bound rests on them.
3. The rows above are drawn in random order, then those below. A confidence sequence (`counting`) bounds the
   wrong ones in all of them, at any time. Each batch is the least that suffices if none of it is wrong. The
   ends are fixed before their first draw and the draws are uniform, so the bounds hold for any proxy and
   any answers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from relserve.policies.cascading.counting import WrongRows
from relserve.policies.cascading.curve import curve
from relserve.policies.cascading.plan import CascadePlanner, Plan, cuts_of
from relserve.policies.cascading.policy import BoolArray, FloatArray, Targets
from relserve.policies.cascading.ranked import RankedRows
from relserve.policies.cascading.replayed import CascadeEnd, Course, IntArray

PILOT = 60
LEAST_BATCH = 24  # rows of the middle that are asked at once, at least


class SampledEnd(NamedTuple):
    """What is known of the rows on one side once its target is met."""

    wrong: int
    """At most so many rows are wrong that were not asked."""
    left: int
    """Rows that were not asked."""


def sampled_ends(scores: FloatArray, targets: Targets, random: np.random.Generator) -> Course:
    """The course of the cascade; see the module."""
    rows = RankedRows(scores, random)
    yield from rows.ask_unranked()
    if not len(rows.scores):
        return CascadeEnd(-np.inf, np.inf, 1.0, 1.0)
    yield from rows.ask(pilot(rows.scores, random))
    plan = yield from _ask_middle(rows, targets)
    num_ranked = len(rows.scores)
    above, below = rows.open(plan.high, num_ranked), rows.open(0, plan.low)
    top = yield from _ask_above(rows, random.permutation(above), plan, targets)
    bottom = yield from _ask_below(rows, random.permutation(below), plan, targets, top)
    kept = rows.found + top.left
    return CascadeEnd(
        rows.score_at(plan.low),
        rows.score_at(plan.high),
        1 - top.wrong / kept if kept else 1.0,
        (kept - top.wrong) / max(kept - top.wrong + bottom.wrong, 1) if kept or bottom.wrong else 1.0,
    )


def pilot(scores: FloatArray, random: np.random.Generator) -> IntArray:
    """Ranks to begin with: one at random of each stretch, stretches shorter where scores are uncertain."""
    num_rows = len(scores)
    weights = 1 / num_rows + np.sqrt(scores * (1 - scores)) / max(np.sqrt(scores * (1 - scores)).sum(), 1e-9)
    edges = np.cumsum(weights) / weights.sum()
    num_pilot = min(num_rows, max(PILOT, round(0.01 * num_rows)))
    drawn = np.searchsorted(edges, (np.arange(num_pilot) + random.random(num_pilot)) / num_pilot)
    return np.unique(np.minimum(drawn, num_rows - 1)).astype(np.int64)


def _ask_middle(rows: RankedRows, targets: Targets) -> Generator[IntArray, BoolArray, Plan]:
    """Asks between the cuts until nothing is left there."""
    planner = CascadePlanner(targets, cuts_of(rows.scores), rows.known_true)
    while True:
        likely = curve(rows.scores, rows.asked, rows.answers)
        plan = planner.plan(likely, rows.asked, rows.answers)
        middle = rows.open(plan.low, plan.high)
        if not len(middle):
            return plan
        num = max(LEAST_BATCH, len(middle) // 2)
        start = max(0, (len(middle) - num) // 2)
        yield from rows.ask(middle[start : start + num])


def _ask_above(
    rows: RankedRows, draws: IntArray, plan: Plan, targets: Targets
) -> Generator[IntArray, BoolArray, SampledEnd]:
    """Draws rows above the upper cut until the precision holds."""
    precision, num_rows = targets.precision, len(draws)
    if precision is None:
        return SampledEnd(num_rows, num_rows)

    def allowed(num_drawn: int) -> float:
        return (1 - precision) * (rows.found + num_rows - num_drawn)

    sequence = WrongRows(num_rows, allowed(0), plan.wrong_above, plan.miss_above)
    return (yield from sampled(rows, draws, sequence, allowed, wrong=False))


def _ask_below(
    rows: RankedRows, draws: IntArray, plan: Plan, targets: Targets, top: SampledEnd
) -> Generator[IntArray, BoolArray, SampledEnd]:
    """Draws rows below the lower cut until the recall holds."""
    recall, num_rows = targets.recall, len(draws)
    if recall is None:
        return SampledEnd(num_rows, num_rows)

    def allowed(num_drawn: int) -> float:
        return (1 / recall - 1) * (rows.found + top.left - top.wrong)

    sequence = WrongRows(num_rows, allowed(0), plan.wrong_below, plan.miss_below)
    return (yield from sampled(rows, draws, sequence, allowed, wrong=True))


def sampled(
    rows: RankedRows, draws: IntArray, sequence: WrongRows, allowed: Callable[[int], float], *, wrong: bool
) -> Generator[IntArray, BoolArray, SampledEnd]:
    """Draws rows of an end until no more wrong ones than allowed can be among those that were not asked.

    Args:
        draws: the end's ranks in random order.
        allowed: so many wrong rows may be left after so many draws.
        wrong: the answer of a wrong row.
    """
    num_drawn = hits = 0
    while not sequence.holds(num_drawn, hits, hits + allowed(num_drawn)):
        num = sequence.draws_needed(num_drawn, hits, hits + allowed(num_drawn))
        answers = yield from rows.ask(draws[num_drawn : num_drawn + num])
        num_drawn, hits = num_drawn + num, hits + int((answers == wrong).sum())
    return SampledEnd(sequence.bound(num_drawn, hits) - hits, len(draws) - num_drawn)
