"""How sure a model is over one relQuery: the distribution of the probabilities of its best choices."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
        self._counts: dict[int, int] = {}  # by bin: a history keeps thousands of these, most of few answers

    def add(self, answers: Sequence[Answer]) -> None:
        """Take a batch of answers; a question that failed does not count."""
        for answer in answers:
            for probability in answer.sureness:
                place = int(probability * BINS + 1e-9)
                self._counts[place] = self._counts.get(place, 0) + 1

    @property
    def num(self) -> int:
        """Questions that counted."""
        return sum(self._counts.copy().values())

    def by_band(self) -> dict[str, int]:
        """Questions by band."""
        found, names = dict.fromkeys(BANDS, 0), list(BANDS)
        for place, num in self._counts.copy().items():
            found[names[bisect_right(list(BANDS.values()), place) - 1]] += num
        return found

    def quantiles(self) -> Mapping[str, float | None]:
        """The probabilities of `QUANTILES`, of the nearest question below; None where none counted."""
        counts = self._counts.copy()
        if not counts:
            return dict.fromkeys(QUANTILES)
        places = sorted(counts)
        so_far = list(accumulate(map(counts.__getitem__, places)))
        ranks = {name: share * (so_far[-1] - 1) + 1 for name, share in QUANTILES.items()}
        return {name: places[bisect_left(so_far, int(rank))] / BINS for name, rank in ranks.items()}
