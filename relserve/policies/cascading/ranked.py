"""The rows of a filter by rank, lowest score first, with the answers so far."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from relserve.policies.cascading.policy import BoolArray, FloatArray
from relserve.policies.cascading.replayed import IntArray


class RankedRows:
    """Asks rows by rank and remembers their answers; rows without a score have no rank.

    Attributes:
        scores: ascending, [ranks].
        asked: which have an answer, [ranks].
        answers: theirs; False for the others.
        known_true: rows without a rank that the large model keeps.
    """

    def __init__(self, scores: FloatArray, random: np.random.Generator) -> None:
        drawn, order = random.random(len(scores)), np.argsort(scores)  # NaN comes last
        num_ranked = int((~np.isnan(scores)).sum())
        ascending = scores[order]
        if num_ranked < len(scores) - 1 or (ascending[1:] == ascending[:-1]).any():
            order = np.lexsort([drawn, scores])  # equal scores in the order of their draws
        self.order, self.unranked = order[:num_ranked], order[num_ranked:]
        self.scores = scores[self.order]
        self.asked, self.answers = np.zeros(num_ranked, bool), np.zeros(num_ranked, bool)
        self.known_true = 0

    def ask(self, ranks: IntArray) -> Generator[IntArray, BoolArray, BoolArray]:
        """The answers to these ranks, of which those are asked that have none yet."""
        new = np.unique(ranks[~self.asked[ranks]])
        if len(new):
            self.answers[new] = yield self.order[new]
            self.asked[new] = True
        return self.answers[ranks]

    def ask_unranked(self) -> Generator[IntArray, BoolArray, None]:
        """Has the rows answered of which the proxy says nothing."""
        if len(self.unranked):
            answers = yield self.unranked
            self.known_true = int(answers.sum())

    def open(self, start: int, stop: int) -> IntArray:
        """The ranks in this range that were not asked."""
        return np.flatnonzero(~self.asked[start:stop]) + start

    @property
    def found(self) -> int:
        """Rows that the large model keeps, as far as it was asked."""
        return self.known_true + int(self.answers.sum())

    def score_at(self, rank: int) -> float:
        """The score of a rank; infinity past the last one."""
        return float(self.scores[rank]) if rank < len(self.scores) else np.inf
