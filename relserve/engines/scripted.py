"""A deterministic engine without a model, for tests and dry runs.

It answers from the prompt's text alone, never at random, and keeps count of what it was asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from relserve.call.ebnf import EbnfError, read_ebnf, sample
from relserve.call.parts import NOT_TOLD
from relserve.call.relquery import Reply, Submission, Usage
from relserve.engines.http.gbnf import gbnf_of
from relserve.errors import EngineDeadError, Failure, FailureKind

MADE_UP_NUMBERS = 8  # in a made-up vector
STALL_S = 0.01  # between two looks whether an engine that stalls may go on

Script = Callable[[str, Submission], "str | Failure"]


def by_hash(prompt: str, submission: Submission) -> str:
    """One of the allowed replies, picked by a hash of the prompt; for free text, the prompt's digest.

    Raises:
        EbnfError: what is to allow replies is no grammar, or allows none that ends.
    """
    digest = _digest(prompt)
    grammar = submission.sampling.grammar
    if grammar is None:
        return digest.hex()
    if grammar.source is not None:
        parts = gbnf_of(grammar)
        return NOT_TOLD if parts is None else sample(read_ebnf(parts), Random(digest))
    if grammar.ebnf:
        return sample(read_ebnf(grammar.ebnf), Random(digest))
    if grammar.choices:
        return grammar.choices[int.from_bytes(digest, "big") % len(grammar.choices)]
    if grammar.shape is not None:
        return json.dumps(grammar.shape.sample(Random(digest)), ensure_ascii=False)
    if grammar.bounds is not None:
        first, last = math.ceil(grammar.bounds[0]), math.floor(grammar.bounds[1])
        return str(first + int.from_bytes(digest, "big") % (last - first + 1))
    return str(digest[0] % 10)


def sure_by_hash(prompt: str) -> float | None:
    """A made-up probability of the reply, from 0 to 1, by a hash of the prompt."""
    return _digest(prompt)[-1] / 255


def weights_by_hash(prompt: str, num: int) -> tuple[float, ...]:
    """Made-up probabilities of so many choices, which sum to 1, by a hash of the prompt."""
    random = Random(_digest(prompt))
    weights = [random.random() for _ in range(num)]
    return tuple(weight / sum(weights) for weight in weights)


def mass_by_hash(prompt: str) -> float:
    """A made-up probability of all choices together, by a hash of the prompt."""
    return _digest(prompt)[0] / 255


def _digest(prompt: str) -> bytes:
    return hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def echo(prompt: str, submission: Submission) -> str:
    """The prompt itself."""
    return prompt


@dataclass
class ScriptedEngine:
    """Answers `script(prompt, submission)` for every prompt.

    Attributes:
        script: what to answer; a Failure fails that row. It gets the submission with the row's grammar as
            that of all.
        sure: the probability of a reply, by its prompt; None stands for an engine that tells none.
        chunk: how many replies come at once.
        pause_s: wait before each chunk, to stand in for a slow model.
        dies_after: raise EngineDeadError after so many replies (None: never).
        stalls_after: answer nothing after so many replies, until this is raised or None, or it is aborted.
        max_prompt_chars: longer prompts fail as over the context.
        identity: its fingerprint; None: its answers are never kept.
        tells_mass: tell the probability of all choices together, where it is asked for.
        remembers: keep every submission, for tests to look at; off where nobody does, for they would pile up.
        submissions: every submission so far, if it remembers.
        aborted: how many prompts were given up unfinished.
    """

    script: Script = by_hash
    sure: Callable[[str], float | None] = sure_by_hash
    chunk: int = 1024
    pause_s: float = 0.0
    dies_after: int | None = None
    stalls_after: int | None = None
    max_prompt_chars: int = 1_000_000
    model: str = "scripted"
    identity: str | None = None
    tells_mass: bool = True
    remembers: bool = True
    submissions: list[Submission] = field(default_factory=list)
    aborted: int = 0
    num_answered: int = 0
    embeds: ClassVar[bool] = True

    @property
    def num_prompts(self) -> int:
        """Prompts asked so far, if it remembers."""
        return sum(len(s.prompts) for s in self.submissions)

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        return self.identity

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`."""
        if self.remembers:
            self.submissions.append(submission)
        done = 0
        try:
            while done < len(submission.prompts):
                await asyncio.sleep(self.pause_s)
                while self.stalls_after is not None and self.num_answered >= self.stalls_after:
                    await asyncio.sleep(STALL_S)
                prompts = submission.prompts[done : done + self.chunk]
                if self.dies_after is not None:
                    prompts = prompts[: max(0, self.dies_after - self.num_answered)]
                    if not prompts:
                        raise EngineDeadError("the scripted engine died, as it was told to")
                replies = [self._reply(done + i, p, submission) for i, p in enumerate(prompts)]
                self.num_answered += len(replies)
                done += len(replies)
                yield replies
        finally:
            self.aborted += len(submission.prompts) - done

    def _reply(self, index: int, prompt: str, submission: Submission) -> Reply:
        if len(prompt) > self.max_prompt_chars:
            message = _too_long(prompt, self.max_prompt_chars)
            return Reply(index, None, Failure(FailureKind.OVER_CONTEXT, message), is_unsent=True)
        try:
            scripted = self.script(prompt, submission.as_for(index))
        except EbnfError as error:
            return Reply(index, None, Failure(FailureKind.REFUSED, str(error)), is_unsent=True)
        if isinstance(scripted, Failure):
            return Reply(index, None, scripted)
        if submission.sampling.embeds:
            from relserve.call.vector_text import text_of_vector  # and numpy

            text = text_of_vector(weights_by_hash(prompt, MADE_UP_NUMBERS))
            return Reply(index, text, usage=Usage(len(prompt) // 4 + 1))
        if submission.sampling.read is not None:
            return self._weighed(index, prompt, submission)
        confidence = self.sure(prompt) if submission.sampling.with_confidence else None
        usage = Usage(len(prompt) // 4 + 1, 0, len(scripted) // 4 + 1)
        return Reply(index, scripted, usage=usage, confidence=confidence)

    def _weighed(self, index: int, prompt: str, submission: Submission) -> Reply:
        """The probabilities of the choices, and the most probable one."""
        grammar = submission.grammar_of(index)
        assert grammar is not None
        found = weights_by_hash(prompt, len(grammar.choices)) if self.sure(prompt) is not None else None
        best = max(zip(found, grammar.choices, strict=True))[1] if found else grammar.choices[0]
        tells = found and self.tells_mass and submission.sampling.label_mass
        mass = (mass_by_hash(prompt),) if tells else None
        usage = Usage(len(prompt) // 4 + 1, 0, 1)
        return Reply(index, best, usage=usage, probabilities=found, label_masses=mass)

    async def close(self) -> None:
        """Nothing to free."""


def _too_long(prompt: str, limit: int) -> str:
    return f"the prompt has {len(prompt)} characters, the model's context holds {limit}"
