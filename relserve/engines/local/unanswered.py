"""The rows of a submission that have no answer yet: those that an engine gives up are asked once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relserve.call.relquery import Reply
from relserve.errors import FailureKind


class Unanswered:
    """What is still to be asked.

    Attributes:
        indices: of the prompts without an answer.
    """

    def __init__(self, num_prompts: int) -> None:
        self.indices = dict.fromkeys(range(num_prompts))
        self._given_up: set[int] = set()

    def take(self, replies: Sequence[Reply]) -> list[Reply]:
        """The replies that stand; a row that is given up for the first time is still to be asked."""
        standing = []
        for reply in replies:
            if (failure := reply.failure) is not None and failure.kind is FailureKind.ENGINE:
                if reply.index not in self._given_up:
                    self._given_up.add(reply.index)
                    continue
                reply = replace(reply, failure=failure._replace(message=f"{failure.message}, twice"))
            del self.indices[reply.index]
            standing.append(reply)
        return standing
