"""How sure a model is over one relQuery: the distribution of the probabilities of its best choices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate

from relserve.call.answer_types import Answer

# Columns of llm_queries(), one a band, and from which probability on that is, in thousandths.
BANDS = {"sure_below_50": 0, "sure_50_to_80": 500, "sure_80_to_95": 800, "sure_from_95": 950}
# Columns with the probability below which that share of the questions is.
QUANTILES = {"sure_p10": 0.1, "sure_p50": 0.5, "sure_p90": 0.9}
BINS = 1000  # of probabilities: quantiles are rounded down to a thousandth


class Sureness:
    """Counts the questions of a relQuery's answers, over its rounds; see `Answer.sureness`."""

    def __init__(self) -> None:
        self._counts = [0] * (BINS + 1)

    def add(self, answers: Sequence[Answer]) -> None:
        """Take a batch of answers; a question that failed does not count."""
        for answer in answers:
            for probability in answer.sureness:
                self._counts[int(probability * BINS + 1e-9)] += 1

    @property
    def num(self) -> int:
        """Questions that counted."""
        return sum(self._counts)

    def by_band(self) -> dict[str, int]:
        """Questions by band."""
        ends = [*list(BANDS.values())[1:], BINS + 1]
        pairs = zip(BANDS.items(), ends, strict=True)
        return {band: sum(self._counts[first:end]) for (band, first), end in pairs}

    def quantiles(self) -> Mapping[str, float | None]:
        """The probabilities of `QUANTILES`, of the nearest question below; None where none counted."""
        so_far = list(accumulate(self._counts))
        if not so_far[-1]:
            return dict.fromkeys(QUANTILES)
        ranks = {name: share * (so_far[-1] - 1) + 1 for name, share in QUANTILES.items()}
        return {name: bisect_left(so_far, int(rank)) / BINS for name, rank in ranks.items()}
