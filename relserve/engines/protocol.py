"""What an engine is: the one seam between a session and whatever answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from relserve.call.relquery import Reply, Submission
from relserve.call.turns import ChatTurn
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel


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
        """Answer all prompts of one round of a relQuery.

        Starts the engine if it is not running. Yields replies in any order as they come, each prompt's
        exactly once; a prompt that fails alone yields a Reply with a failure. Closing or cancelling the
        iterator aborts in the engine what is not finished.

        Raises:
            EngineStartError: it did not come up.
            EngineDeadError: it died and a restart did not help; replies yielded before still stand.
            OptionError: the submission wants thoughts of a model that cannot think, or probabilities of an
                engine that was told to give others.
        """

    async def close(self) -> None:
        """Free everything; the engine starts anew if asked again."""


@runtime_checkable
class Startable(Protocol):
    """An engine that may be started before it is asked."""

    async def start(self) -> Any:
        """Start it if it is not up, and wait until it is; raises as of `Engine.answer`."""


class Encoder(Protocol):
    """A model's tokenizer behind its chat template."""

    def encode(
        self, prompts: Sequence[str], system: str | None, thinking: int = 0, turns: Sequence[ChatTurn] = ()
    ) -> list[list[int]]:
        """Token ids of each prompt as the model gets it, which may think for so many tokens."""

    def num_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text alone."""


@runtime_checkable
class Estimable(Protocol):
    """An engine whose work can be estimated before it is started: its model's files are on this machine.

    May be called from any thread.
    """

    def find_encoder(self) -> Encoder | None:
        """The model's encoder; None where its files are not here or cannot be read."""

    def find_cost(self) -> CostModel | None:
        """The calibrated cost model of the model on this machine; None without one."""

    def find_lengths(self) -> LengthLearner:
        """What earlier engines of the model learnt of its outputs; nothing where that is not kept."""

    @property
    def max_num_seqs(self) -> int | None:
        """Rows that a step may run, where the user set it."""

    @property
    def block_size(self) -> int:
        """Tokens that its prefix cache keeps or forgets together."""


@runtime_checkable
class ServesOpenAI(Protocol):
    """An engine with an OpenAI server of its own, whose requests it schedules together with submissions.

    On the engine loop, as `Engine`.
    """

    async def openai_socket(self, arguments: Mapping[str, Any]) -> Path:
        """The Unix socket at which that server listens, in a folder that only this user can enter.

        What is asked there while the engine is down starts it, or gets 503.

        Args:
            arguments: of vLLM's web app, by the names of `vllm serve`.

        Raises:
            EngineStartError: it did not come up, or serves with other arguments.
        """
