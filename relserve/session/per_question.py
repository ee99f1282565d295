"""Several questions about each row, asked one by one after the prompt that they share."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from relserve.call.answer_types import Grammar
from relserve.call.decisions import FollowUp
from relserve.call.relquery import Reply, Submission
from relserve.errors import Failure
from relserve.session.in_blocks import answered, blocks_of, own_limits
from relserve.session.wrapped_engine import WrappedEngine, failure_of, together


class PerQuestion(WrappedEngine):
    """An engine that asks another one the follow-ups of each prompt; see `Engine` and `Sampling`.

    A reply has the probabilities of all their choices, one question's after the other's, and likewise their
    label masses. Those of a question that failed are NaN, and the reply has the failure of the first such.
    """

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; prompts are made block by block."""
        asked = submission.sampling.follow_ups
        rows = len(submission.prompts) if submission.rows is None else submission.rows
        blocks = list(blocks_of(submission.prompts, len(asked), *own_limits(self._engine)))
        found: dict[int, list[Reply]] = {}
        made = (questions_of(submission.part(block, rows)) for block in blocks)
        async with aclosing(answered(self._engine, made)) as stream:  # type: ignore[type-var]
            async for number, replies in stream:
                whole = []
                for reply in replies:
                    index = blocks[number][reply.index // len(asked)]
                    found.setdefault(index, []).append(reply)
                    if len(found[index]) == len(asked):
                        whole.append(_of_all(index, asked, found.pop(index)))
                if whole:
                    yield whole


def questions_of(submission: Submission) -> Submission:
    """The questions about each prompt, which begin with the prompt and follow each other.

    Questions with other choices have a grammar of their own.
    """
    asked = submission.sampling.follow_ups
    prompts = [f"{prompt}\n{each.text}" for prompt in submission.prompts for each in asked]
    grammars = [Grammar(choices=each.choices) for each in asked]
    alike = grammars[0] if len(set(grammars)) == 1 else None
    rows = None if submission.rows is None else submission.rows * len(asked)
    return replace(
        submission, prompts=prompts, rows=rows,
        sampling=replace(submission.sampling, grammar=alike, follow_ups=()),
        grammars=None if alike else grammars * len(submission.prompts),
        frame=submission.frame.then(tuple(f"\n{each.text}" for each in asked)),
    )  # fmt: skip


def _of_all(index: int, asked: Sequence[FollowUp], replies: Sequence[Reply]) -> Reply:
    """The reply to a prompt, of those to its questions in any order."""
    ordered = sorted(replies, key=lambda reply: reply.index)
    failures = [_failure_of(each, reply) for each, reply in zip(asked, ordered, strict=True)]
    failed = [failure for failure in failures if failure is not None]
    whole = together(index, ordered)
    if len(failed) == len(asked):
        return replace(whole, text=None, failure=failed[0])
    if any(reply.text is not None and reply.probabilities is None for reply in ordered):
        return whole  # of an engine that tells none
    found = [
        reply.probabilities if failure is None and reply.probabilities else (math.nan,) * len(each.choices)
        for each, reply, failure in zip(asked, ordered, failures, strict=True)
    ]
    probabilities = tuple(probability for each in found for probability in each)
    masses = tuple((reply.label_masses or (math.nan,))[0] for reply in ordered)
    return replace(
        whole, failure=failed[0] if failed else None, probabilities=probabilities,
        label_masses=None if all(map(math.isnan, masses)) else masses,
    )  # fmt: skip


def _failure_of(asked: FollowUp, reply: Reply) -> Failure | None:
    """Why a question has no answer."""
    failure = failure_of(reply)
    if failure is None or not asked.name:
        return failure
    return failure._replace(message=f"question {asked.name!r}: {failure.message}")
