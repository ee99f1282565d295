"""What somebody who has entered a gate holds."""

from __future__ import annotations


class Permit:
    """A request that has started, or a row of a relQuery.

    Attributes:
        num_output_tokens: that it has said so far.
        waited_s: seconds that it waited.
    """

    __slots__ = ("num_output_tokens", "request_id", "waited_s")

    def __init__(self, request_id: str, waited_s: float) -> None:
        self.request_id, self.waited_s = request_id, waited_s
        self.num_output_tokens = 0.0

    def progress(self, tokens: float) -> None:
        """It has said so many tokens in all, from which speeds are measured; from any thread, often."""
        self.num_output_tokens = tokens
