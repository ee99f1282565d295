"""What somebody who wants to enter a gate is given: a ticket, or where it stands."""

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


class Ticket:
    """A request that has started, or a row of a relQuery.

    Attributes:
        said: tokens that it has said so far.
        waited_s: seconds that it waited.
    """

    __slots__ = ("request_id", "said", "waited_s")

    def __init__(self, request_id: str, waited_s: float) -> None:
        self.request_id, self.waited_s = request_id, waited_s
        self.said = 0.0

    def progress(self, tokens: float) -> None:
        """It has said so many tokens in all, from which speeds are measured; from any thread, often."""
        self.said = tokens
