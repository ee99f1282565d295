"""What an engine is: the one seam between a session and whatever answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from relserve.relquery import Reply, Submission


class Engine(Protocol):
    """A source of answers, shared by every session of the process.

    All methods run on the process's engine loop (`relserve.engines.loop`).
    """

    @property
    def model(self) -> str:
        """The name by which users ask for it."""

    async def fingerprint(self) -> str | None:
        """A hash that changes with whatever, besides the submission, shapes a reply: the model and its like.

        Of the model that answers now, or that a start would load; starts nothing. None: answers must not be
        kept, for nothing is known of it.

        Raises:
            EngineError, ModelError: it can be seen already that it will not answer.
        """

    def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """Answer all prompts of a relQuery, submitted at once.

        Starts the engine if it is not running. Yields replies in any order as they come, each prompt's
        exactly once; a prompt that fails alone yields a Reply with a failure. Closing or cancelling the
        iterator aborts in the engine what is not finished.

        Raises:
            EngineStartError: it did not come up.
            EngineDeadError: it died and a restart did not help; replies yielded before still stand.
        """

    async def close(self) -> None:
        """Free everything; the engine starts anew if asked again."""
