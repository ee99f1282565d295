"""A large submission asked in blocks, so that the prompts made of its rows never all exist at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice

from relserve.call.relquery import Reply, Submission
from relserve.engines.protocol import Engine

AT_ONCE = 2  # blocks under way: while the last rows of one are answered, the engine works on the next
MOST_PROMPTS = 8_192  # of a block
MOST_CHARS = 1 << 24  # of its prompts


def blocks_of(
    prompts: Sequence[str], times: int, most: int = MOST_PROMPTS, most_chars: int = MOST_CHARS
) -> Iterator[range]:
    """The rows of each block, of which so many prompts are made a row; a block has one row at least."""
    first, num_chars = 0, 0
    for index, prompt in enumerate(prompts):
        num_chars += len(prompt) * times
        if index > first and ((index + 1 - first) * times > most or num_chars > most_chars):
            yield range(first, index)
            first, num_chars = index, len(prompt) * times
    if prompts:
        yield range(first, len(prompts))


def own_limits(engine: Engine) -> tuple[int, ...]:
    """The most prompts and characters of a block, where an engine has limits of its own; else nothing."""
    return getattr(engine, "own_blocks", ())


async def answered(engine: Engine, asked: Iterable[Submission]) -> AsyncIterator[tuple[int, list[Reply]]]:
    """The replies to submissions as they come, each batch with its submission's number.

    A submission is taken from `asked` when it is its turn. Leaving the iteration aborts what is unfinished.

    Raises: as `Engine.answer`.
    """
    inbox: asyncio.Queue[tuple[int, list[Reply] | None]] = asyncio.Queue()  # None: it has ended
    running: dict[int, asyncio.Task[None]] = {}
    left = enumerate(asked)

    async def carry(number: int, submission: Submission) -> None:
        async with aclosing(engine.answer(submission)) as stream:  # type: ignore[type-var]
            async for replies in stream:
                inbox.put_nowait((number, replies))

    def begin(number: int, submission: Submission) -> None:
        running[number] = asyncio.create_task(carry(number, submission))
        running[number].add_done_callback(lambda _: inbox.put_nowait((number, None)))

    try:
        for number, submission in islice(left, AT_ONCE):
            begin(number, submission)
        while running:
            number, replies = await inbox.get()
            if replies is not None:
                yield number, replies
                continue
            running.pop(number).result()
            for following, submission in islice(left, 1):
                begin(following, submission)
    finally:
        for task in running.values():
            task.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)
