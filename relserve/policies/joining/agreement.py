"""How well the verdicts of a plan agree with asking each pair, from pairs that are drawn and asked.

The pairs are divided into strata: those with a yes, and of those with a no by where a missed match is likely:
among the nearest rows, and in rows that have no match at all. The strata are fixed before the draws, and the
draws in each are uniform, so a bad guess only makes the estimate less sharp. The bounds are Wilson's, which
are approximate; who wants a guarantee names targets, and gets a cascade.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relserve.evaluation.intervals import measured_share

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Answers = Mapping[int, bool | None]

LEAST_AGREEMENT = 0.98  # F1 against the pairs, with which verdicts stand
LEAST_DRAWN, SHARE_DRAWN = 48, 1 / 400  # of a stratum at first: pairs, or a share of all; then twice as many
TIMES_DRAWN = (1, 3, 3, 1, 1)  # by stratum: more where matches are missed, if any are
MOST_DRAWN = 1 / 40  # of all pairs
NEAR = 0.1  # of a row's partners, the nearest ones


class Agreement(NamedTuple):
    """F1 of verdicts against asking each pair: estimated, and between which bounds it is likely to be."""

    f1: float
    low: float
    high: float

    @property
    def told(self) -> str:
        """In words."""
        return f"F1 against pairs about {self.f1:.2f} ({self.low:.2f} to {self.high:.2f})"


class _Stratum(NamedTuple):
    pairs: IntArray  # in the order of the draws
    said: bool


class AgreementCheck:
    """Draws pairs until it is clear whether verdicts stand.

    Args:
        verdicts: of each pair.
        known: answers of pairs that were asked before; they are right, and no draw.
        strata: the number of each pair's stratum, see `strata_of`.
        seed: the same gives the same draws.
    """

    def __init__(self, verdicts: BoolArray, known: Answers, strata: IntArray, seed: int) -> None:
        random = np.random.default_rng(seed)
        is_open = np.ones(len(verdicts), bool)
        is_open[list(known)] = False
        self._strata = [
            _Stratum(random.permutation(np.flatnonzero(is_open & (strata == number))), not number)
            for number in range(len(TIMES_DRAWN))
        ]
        self._num_true = sum(answer is True for answer in known.values())
        self._num_drawn = max(LEAST_DRAWN, int(SHARE_DRAWN * len(verdicts)))
        self._most = max(sum(TIMES_DRAWN) * self._num_drawn, int(MOST_DRAWN * len(verdicts)))

    def pairs_to_ask(self, answers: Answers) -> list[int]:
        """Pairs to ask next; none once it is clear.

        Args:
            answers: of all pairs asked so far; None of a pair that failed, which tells nothing.
        """
        while True:
            drawn = self._drawn()
            if missing := [pair for pairs in drawn for pair in pairs if pair not in answers]:
                return missing
            found = self.outcome(answers)
            decided = found.f1 >= LEAST_AGREEMENT or found.high < LEAST_AGREEMENT
            if decided or 2 * sum(map(len, drawn)) > self._most:
                return []
            self._num_drawn *= 2

    def outcome(self, answers: Answers) -> Agreement:
        """What the draws so far tell."""
        wrong = [
            _share([answers[pair] for pair in pairs], stratum)
            for stratum, pairs in zip(self._strata, self._drawn(), strict=True)
        ]
        num_yes = len(self._strata[0].pairs)
        return Agreement(*(_f1(self._num_true, num_yes, *each) for each in zip(*wrong, strict=True)))

    def stands(self, answers: Answers) -> bool:
        """Whether the verdicts stand."""
        return self.outcome(answers).f1 >= LEAST_AGREEMENT

    def _drawn(self) -> list[list[int]]:
        """The draws of each stratum."""
        both = zip(self._strata, TIMES_DRAWN, strict=True)
        return [stratum.pairs[: times * self._num_drawn].tolist() for stratum, times in both]


def strata_of(verdicts: BoolArray, rows: IntArray, likeness: FloatArray) -> IntArray:
    """The stratum of each pair: 0 for a yes.

    Args:
        rows: of each pair the row of the side that has more of them.
        likeness: of each pair's rows, by rank; see `ranks`.
    """
    num_matches = np.bincount(rows, weights=verdicts, minlength=rows.max() + 1)
    has_match, is_near = num_matches[rows] > 0, likeness > 1 - NEAR
    found: IntArray = np.where(verdicts, 0, 1 + 2 * has_match + ~is_near)
    return found


def _f1(num_known: int, num_yes: int, false_yes: float, *missed: float) -> float:
    right = num_known + num_yes - false_yes
    off = false_yes + sum(missed)
    return 2 * right / (2 * right + off) if right or off else 1.0


def _share(answers: list[bool | None], stratum: _Stratum) -> tuple[float, float, float]:
    """How many pairs of a stratum are wrong: estimated, the most and the least (Wilson)."""
    wrong = [answer != stratum.said for answer in answers if answer is not None]
    num, hits, num_pairs = len(wrong), sum(wrong), len(stratum.pairs)
    if num == num_pairs:
        return hits, hits, hits
    if (share := measured_share(hits, num)) is None:
        return num_pairs, num_pairs, 0
    return share.value * num_pairs, share.high * num_pairs, share.low * num_pairs
