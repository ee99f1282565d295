"""How sure a model is over one relQuery: the questions counted by the probability of their best choice."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from relserve.call.answer_types import Answer

BOUNDS = (0.5, 0.8, 0.95)  # each begins a band
# Columns of llm_queries(), one a band.
BANDS = ("sure_below_50", "sure_50_to_80", "sure_80_to_95", "sure_from_95")


class Sureness:
    """Counts the questions of a relQuery's answers by band, over its rounds; see `Answer.sureness`."""

    def __init__(self) -> None:
        self._counts = [0] * len(BANDS)

    def add(self, answers: Sequence[Answer]) -> None:
        """Take a batch of answers; a question that failed does not count."""
        for answer in answers:
            for probability in answer.sureness:
                self._counts[bisect_right(BOUNDS, probability)] += 1

    def by_band(self) -> dict[str, int]:
        """Questions by band."""
        return dict(zip(BANDS, self._counts, strict=True))
