"""A cascade written as one course of events: it yields rows to ask and is sent their answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relserve.policies.cascading.policy import BoolArray, FloatArray, Outcome, Targets

IntArray = npt.NDArray[np.int64]


class CascadeEnd(NamedTuple):
    """What a course ends with: the thresholds, and the bounds that hold at the targets' confidence."""

    lower: float
    upper: float
    precision: float
    recall: float


Course = Generator[IntArray, BoolArray, CascadeEnd]
"""Yields indexes of rows, is sent the large model's answers in their order, and returns its decision."""
Asks = Callable[[FloatArray, Targets, np.random.Generator], Course]
UNDECIDED = CascadeEnd(-np.inf, np.inf, 1.0, 0.0)  # only rows that were asked are kept, and those rightly


class ReplayedCascade:
    """Runs a course up to the first row without an answer.

    A call that goes on from the last one continues its course; any other, as after a crash, replays it from
    the start by the answers that there are. Both give the same rows, because a course knows nothing but
    scores, answers to what it asked, and the seed. Answers to other rows are right in the outcome, and
    change no draw.
    """

    def __init__(self, name: str, asks: Asks, targets: Targets, seed: int) -> None:
        self.name, self._asks, self._targets, self._seed = name, asks, targets, seed
        self._scores: FloatArray | None = None
        self._course: Course | None = None
        self._batch: IntArray = np.empty(0, np.int64)
        self._past: list[tuple[IntArray, BoolArray]] = []
        self._decision: CascadeEnd | None = None

    def rows_to_ask(self, scores: FloatArray, answers: Mapping[int, bool]) -> list[int]:
        """Those of the course's next batch that have no answer yet; none where it has ended."""
        if not self._goes_on(scores, answers):
            self._restart(scores)
        while self._decision is None:
            unanswered = [row for row in self._batch.tolist() if row not in answers]
            if unanswered:
                return unanswered
            self._send(np.array([answers[row] for row in self._batch.tolist()], bool))
        return []

    def outcome(self, scores: FloatArray, answers: Mapping[int, bool]) -> Outcome:
        """What is kept; as long as the course has not ended, only rows that the large model keeps."""
        self.rows_to_ask(scores, answers)
        decision = self._decision or UNDECIDED
        kept = np.asarray(scores >= decision.upper)
        for row, answer in answers.items():
            kept[row] = answer
        return Outcome(kept, *decision, num_asked=len(answers))

    def _goes_on(self, scores: FloatArray, answers: Mapping[int, bool]) -> bool:
        if self._scores is None or not np.array_equal(scores, self._scores, equal_nan=True):
            return False
        return all(
            answers.get(row) == answer
            for rows, answered in self._past
            for row, answer in zip(rows.tolist(), answered.tolist(), strict=True)
        )

    def _restart(self, scores: FloatArray) -> None:
        self._scores, self._past, self._decision = scores.copy(), [], None
        self._course = self._asks(self._scores, self._targets, np.random.default_rng(self._seed))
        self._advance(None)

    def _send(self, answered: BoolArray) -> None:
        self._past.append((self._batch, answered))
        self._advance(answered)

    def _advance(self, answered: BoolArray | None) -> None:
        assert self._course is not None
        try:
            self._batch = next(self._course) if answered is None else self._course.send(answered)
        except StopIteration as end:
            self._decision = end.value
