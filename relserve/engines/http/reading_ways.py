"""The ways to read probabilities of choices at a server, and which of them it knows."""

from __future__ import annotations

from typing import NamedTuple

from relserve.engines.http.decision_wire import DECISIONS, SYSTEM_ONE, DecisionWire


class ReadingWays(NamedTuple):
    """What is left to try at a server; the first way that it knows stays.

    Its likeliest tokens come first: that is the endpoint of all other functions, under our own labels and
    thresholds, and a server's decision path may be for other models than the one named. Then System One,
    which more servers speak. A way that a server does not know costs nothing: it answers 404, 405, 501 or
    400 before it computes a token. Only a chat without probabilities is computed in vain, and shows itself by
    nothing else. So the first row that a server is asked about goes alone, and at most that one is paid for
    twice. Of a server that knows no way, two rows of each submission are asked about by tokens, in case it
    was mended, and the others are not.

    Attributes:
        left: the ways, the next one first; None is by tokens.
        is_known: whether the server has shown that it knows the first.
    """

    left: tuple[DecisionWire | None, ...] = (None, SYSTEM_ONE, DECISIONS)
    is_known: bool = False

    @property
    def wire(self) -> DecisionWire | None:
        """The way to ask; None: by tokens."""
        return self.left[0]

    def known(self) -> ReadingWays:
        """After the server has shown that it knows the way."""
        return ReadingWays(self.left[:1], True)

    def others(self) -> ReadingWays:
        """After it has shown that it does not; by tokens where it knows none."""
        return ReadingWays(self.left[1:] or (None,))
