"""Asking an engine from a test."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine

TIMEOUT_S = 300  # in which an engine starts, too: beside other tests that took 70 s


def submission_of(
    prompts: Sequence[str],
    system: str | None = None,
    grammars: Sequence[Grammar | None] | None = None,
    **sampling: Any,
) -> Submission:
    """A submission with a short reply limit."""
    how = Sampling(**{"max_tokens": 8, **sampling})
    return Submission(new_rel_id(), prompts, how, system, grammars=grammars)


async def collect(engine: Engine, submission: Submission) -> list[Reply]:
    """All replies, in the order in which they came."""
    replies: list[Reply] = []
    async with aclosing(engine.answer(submission)) as stream:  # type: ignore[type-var]
        async for batch in stream:
            replies += batch
    return replies


def ask(engine: Engine, prompts: Sequence[str], system: str | None = None, **how: Any) -> list[Reply]:
    """The replies in the order of the prompts, one each; `how` as of `submission_of`."""
    replies = spawn(collect(engine, submission_of(prompts, system, **how))).result(timeout=TIMEOUT_S)
    assert sorted(r.index for r in replies) == list(range(len(prompts)))
    return sorted(replies, key=lambda reply: reply.index)


def texts(replies: Sequence[Reply]) -> list[str | None]:
    """The texts alone."""
    return [reply.text for reply in replies]
