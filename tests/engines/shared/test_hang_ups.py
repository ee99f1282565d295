"""A shared engine's process that ends in the midst of a query: what it left is asked once more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from asking import TIMEOUT_S, ask, submission_of, texts

from relserve.call.relquery import Reply
from relserve.engines.loop import spawn
from relserve.engines.shared.engine import SharedEngine
from relserve.engines.shared.wire import (
    Replied,
    SubmissionEnded,
    read_json,
    read_submission,
    write_json,
    write_object,
)
from relserve.errors import EngineDeadError

PROMPTS = [f"How was dish {i}?" for i in range(9)]


@contextmanager
def hanging_up(engine: SharedEngine, times: int) -> Iterator[list[Sequence[str]]]:
    """What listens in the place of its process answers a third and hangs up, so many times; gives what it
    was asked."""
    asked: list[Sequence[str]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_json(reader)
        await write_json(writer, {"ok": True})
        prompts = (await read_submission(reader)).prompts
        asked.append(prompts)
        is_whole = len(asked) > times
        replies = [Reply(index, prompt.upper()) for index, prompt in enumerate(prompts)]
        await write_object(writer, Replied(replies if is_whole else replies[: len(prompts) // 3]))
        if is_whole:
            await write_object(writer, SubmissionEnded())
        writer.close()

    async def close() -> None:
        server.close()

    server = spawn(asyncio.start_unix_server(answer, engine.place.socket)).result(timeout=TIMEOUT_S)
    try:
        yield asked
    finally:
        spawn(close()).result(timeout=TIMEOUT_S)


def test_what_is_unanswered_is_asked_again_and_that_is_said(make, said):
    engine = make()
    with hanging_up(engine, 1) as asked:
        assert texts(ask(engine, PROMPTS)) == [prompt.upper() for prompt in PROMPTS]
    assert [list(prompts) for prompts in asked] == [PROMPTS, PROMPTS[3:]]
    assert said == ["the shared engine for scripted ended; starting it anew ..."]


def test_the_second_time_it_is_an_error(make):
    engine = make()
    with hanging_up(engine, 2) as asked, pytest.raises(EngineDeadError, match="ended twice during one query"):
        ask(engine, PROMPTS)
    assert len(asked) == 2


def test_after_the_client_was_closed_nothing_is_asked_again(make):
    engine = make()

    async def close_in_the_midst() -> None:
        async for _ in engine.answer(submission_of(PROMPTS)):
            await engine.close()

    with hanging_up(engine, 1) as asked:
        with pytest.raises(EngineDeadError, match="was closed while it worked"):
            spawn(close_in_the_midst()).result(timeout=TIMEOUT_S)
        assert len(asked) == 1
