"""Where a relQuery stands whose rows wait to be admitted."""

from __future__ import annotations

from typing import NamedTuple


class Standing(NamedTuple):
    """Of a request, or of a relQuery some rows of which wait.

    Attributes:
        num_waiting: rows that have not started.
        estimate_s: seconds until the last of them has probably ended; None where nothing is measured yet.
        reason: why they wait, in a few words.
    """

    num_waiting: int
    estimate_s: float | None
    reason: str
