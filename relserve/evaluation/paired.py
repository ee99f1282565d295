"""Two calls on the same rows: whether one is better, or luck would do as much."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class PairedRows(NamedTuple):
    """Rows by which of two calls is right."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def p_value(self) -> float:
        """McNemar's exact test, two-sided: how often chance alone sets two equally good calls so far apart.

        McNemar (1947), "Note on the sampling error of the difference between correlated proportions": rows
        on which both are right or wrong tell nothing; of the others each call has half, by a fair coin.
        """
        flips, fewer = self.only_first + self.only_second, min(self.only_first, self.only_second)
        # C(n, k) from C(n, k - 1), in whole numbers: no float holds them for thousands of rows
        ways = accumulate(range(1, fewer + 1), lambda c, k: c * (flips - k + 1) // k, initial=1)
        return min(1.0, 2 * sum(ways) / (1 << flips))


def paired(first: Sequence[bool], second: Sequence[bool]) -> PairedRows:
    """Count the rows, in the same order for both, by who is right."""
    both = list(zip(first, second, strict=True))
    return PairedRows(
        both.count((True, True)), both.count((True, False)), both.count((False, True)),
        both.count((False, False)),
    )  # fmt: skip
