"""What a cascade of a filter is: which rows to ask next, and what is kept at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Targets:
    """What a cascade promises: both targets hold together with probability `confidence`.

    Raises:
        ValueError: no target at all, or a number that is not between 0 and 1.
    """

    precision: float | None
    """Of the rows that are kept, the share that the large model would keep; None promises nothing of it."""
    recall: float | None
    """Of the rows that the large model would keep, the share that is kept; None promises nothing of it."""
    confidence: float
    """The probability with which both hold together, over the draws of the rows to ask."""

    def __post_init__(self) -> None:
        if self.precision is None and self.recall is None:
            raise ValueError("a cascade needs a target: precision, recall or both")
        for name, share in (("precision", self.precision), ("recall", self.recall)):
            if share is not None and not 0 < share <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, not {share}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must be above 0 and below 1, not {self.confidence}")


@dataclass(frozen=True)
class Outcome:
    """What a cascade decides with the answers that there are."""

    kept: BoolArray
    """For each row, whether it is kept: by the large model's answer where there is one, else by threshold."""
    lower: float
    """A row that was not asked and scores below is not kept."""
    upper: float
    """A row that was not asked and scores at least this is kept; all rows in between were asked."""
    precision: float
    """At least this share of the kept rows is right, at the targets' confidence; 0 where nothing is known."""
    recall: float
    """At least this share of the rows that the large model would keep is kept, likewise."""
    num_asked: int
    """Rows that the large model has answered."""


class FilterCascade(Protocol):
    """Decides for one filter; the same scores, answers and seed give the same decision."""

    @property
    def name(self) -> str:
        """The variant's name."""

    def rows_to_ask(self, scores: FloatArray, answers: Mapping[int, bool]) -> list[int]:
        """Indexes of the rows that the large model must answer next, a batch of distinct unanswered rows.

        Empty once the cascade can decide the rest. All rows of a batch are to be answered before the next
        call.

        Args:
            scores: the proxy's probability of true for each distinct row, [rows]. NaN where the proxy
                failed: such a row is always asked. A proxy that was learnt from answers has NaN for the rows
                of these answers.
            answers: by index of the row, what the large model has said so far.
        """

    def outcome(self, scores: FloatArray, answers: Mapping[int, bool]) -> Outcome:
        """What is kept. The guarantee holds once `rows_to_ask` is empty."""
