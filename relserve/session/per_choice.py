"""A row's choices asked about one by one: each is a yes or no of its own, after the text that they share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from relserve.call.answer_types import Grammar, YesNo
from relserve.call.decisions import YES_NO
from relserve.call.relquery import Reply, RowTimes, Submission, Usage
from relserve.engines.protocol import Engine
from relserve.errors import Failure, FailureKind


class PerChoice:
    """An engine that asks another one about each choice of each prompt; see `Engine`.

    A reply has the probabilities of yes, in the order of the choices. A prompt of which one question fails
    has that failure.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def model(self) -> str:
        return self._engine.model

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`."""
        return await self._engine.fingerprint()

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`."""
        num = len(_choices(submission))
        found: dict[int, list[Reply]] = {}
        async with aclosing(self._engine.answer(questions_of(submission))) as stream:  # type: ignore[type-var]
            async for replies in stream:
                whole = []
                for reply in replies:
                    index = reply.index // num
                    found.setdefault(index, []).append(reply)
                    if len(found[index]) == num:
                        whole.append(_together(index, found.pop(index)))
                if whole:
                    yield whole

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._engine.close()


def questions_of(submission: Submission) -> Submission:
    """The questions about each choice of each prompt, which begin with the prompt."""
    choices, lead = _choices(submission), YesNo().instruction
    asks = tuple(f'\nDoes "{choice}" apply?' for choice in choices)
    prompts = [f"{lead}\n{prompt}{each}" for prompt in submission.prompts for each in asks]
    sampling = replace(submission.sampling, grammar=Grammar(choices=YES_NO), per_choice=False)
    rows = None if submission.rows is None else submission.rows * len(choices)
    frame = submission.frame.then(asks)
    return replace(submission, prompts=prompts, sampling=sampling, rows=rows, frame=frame)


def _choices(submission: Submission) -> tuple[str, ...]:
    assert submission.sampling.grammar is not None
    return submission.sampling.grammar.choices


def _together(index: int, replies: Sequence[Reply]) -> Reply:
    """The reply to a prompt, of those to its questions in any order."""
    ordered = sorted(replies, key=lambda reply: reply.index)
    usage = Usage(*map(sum, zip(*(reply.usage for reply in ordered), strict=True)))
    times = _times_of([reply.times for reply in ordered if reply.times is not None])
    found = []
    for reply in ordered:
        failure = reply.failure
        if failure is None and reply.text is None:
            failure = Failure(FailureKind.ENGINE, "no reply")
        if failure is not None:
            return Reply(index, None, failure, usage, times)
        if reply.probabilities is not None:
            found.append(reply.probabilities[0])
    probabilities = tuple(found) if len(found) == len(ordered) else None
    return Reply(index, "", None, usage, times, probabilities=probabilities)


def _times_of(times: Sequence[RowTimes]) -> RowTimes | None:
    """From when the first question was queued until the last was answered."""
    if not times:
        return None
    return RowTimes(
        min(each.queued_s for each in times), min(each.scheduled_s for each in times),
        max(each.first_token_s for each in times), max(each.last_token_s for each in times),
        sum(each.preemptions for each in times),
    )  # fmt: skip
