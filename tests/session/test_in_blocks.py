"""Prompts that are made of rows: how many exist at once, in which order rows are done, and what ends them."""

from __future__ import annotations

import asyncio
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from relserve.call.options import parse_options
from relserve.call.relquery import CallSite, Reply, Submission
from relserve.call.template import Template
from relserve.engines.batch.engine import BatchEngine
from relserve.engines.batch.rows import row_keys
from relserve.engines.protocol import Engine
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError
from relserve.server.users.metered import metered
from relserve.server.users.quota import Quota
from relserve.server.users.users import User
from relserve.session.cached_answers import ask_counted
from relserve.session.capped_engine import CappedEngine
from relserve.session.folding import fold_rows
from relserve.session.in_blocks import AT_ONCE, MOST_PROMPTS, answered, blocks_of
from relserve.session.reordered import MOST_WITH_TURNS, engine_for
from relserve.session.session import Session

NUM_QUESTIONS = 64


@dataclass
class Counting(ScriptedEngine):
    """Notes how many prompts it has been given and not answered, at the most, and of how many rows in all."""

    remembers: bool = False
    num_there: int = 0
    most_there: int = 0
    rows: set[int | None] = field(default_factory=set)
    chunks: list[int] = field(default_factory=list)

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        num_left = len(submission.prompts)
        self.rows.add(submission.rows)
        self.chunks.append(num_left)
        self.num_there += num_left
        self.most_there = max(self.most_there, self.num_there)
        try:
            async for replies in super().answer(submission):
                yield replies
        finally:
            self.num_there -= num_left


def decide(num: int = NUM_QUESTIONS, size: int = 10) -> CallSite:
    questions = {f"q{i}": {"type": "noul", "instructions": "x" * size} for i in range(num)}
    options = parse_options("llm_decide", {"questions": questions})
    return CallSite("llm_decide", Template.parse("{}").bind(1), options)


def sentiment(**options: Any) -> CallSite:
    given = {"choices": ["good", "bad"], "debias": 2, **options}
    return CallSite("llm_probs", Template.parse("{}").bind(1), parse_options("llm_probs", given))


def submission_of(site: CallSite, num: int) -> Submission:
    prompts = [each for each in site.prompts([[f"row {i}"] for i in range(num)]) if each is not None]
    return Submission("r", prompts, site.sampling, turns=site.turns)


def order_of_rows(engine: Engine, submission: Submission) -> list[int]:
    async def asked() -> list[int]:
        stream = engine_for(engine, submission).answer(submission)
        return [reply.index async for replies in stream for reply in replies]

    return asyncio.run(asked())


def test_blocks_hold_all_rows_once_and_no_more_prompts_than_they_may() -> None:
    assert list(blocks_of(["x"] * 7, 2, 6)) == [range(3), range(3, 6), range(6, 7)]
    assert list(blocks_of(["x" * 10, "y", "z" * 99, "a"], 1, 9, 20)) == [range(2), range(2, 3), range(3, 4)]
    assert list(blocks_of(["x"] * 2, 9, 6)) == [range(1), range(1, 2)]  # a row's prompts are not divided
    assert list(blocks_of([], 2)) == []


def test_questions_of_many_rows_never_all_exist_at_once() -> None:
    engine, num = Counting(), 280
    assert sorted(order_of_rows(engine, submission_of(decide(), num))) == list(range(num))
    assert engine.num_answered == num * NUM_QUESTIONS > AT_ONCE * MOST_PROMPTS
    assert MOST_PROMPTS < engine.most_there <= AT_ONCE * MOST_PROMPTS
    assert engine.rows == {num * NUM_QUESTIONS}  # of the whole relQuery, whichever block


def test_a_decision_is_the_same_in_blocks_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[Any]:
        session = Session(lambda model: ScriptedEngine())
        with session.open(decide(3)) as opened:
            return [answer.value for answer in opened.ask([[f"row {i}"] for i in range(50)])]

    whole = found()
    monkeypatch.setattr(blocks_of, "__defaults__", (12, 1 << 20))
    assert found() == whole


def test_explain_makes_the_prompts_of_a_sample() -> None:
    session, site = Session(lambda model: ScriptedEngine()), decide(size=1000)
    folded = fold_rows(site.prompts([[f"row {i}"] for i in range(20_000)]))  # 1.3 GB of prompts
    tracemalloc.start()
    try:
        found = session.estimate(site, folded)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6
    assert found.num_distinct == 20_000
    assert found.prompt_tokens == pytest.approx(20_000 * NUM_QUESTIONS * 1050 / 4, rel=0.05)
    assert found.shared > 0  # the questions of a row are looked at together


def test_with_examples_rows_are_done_block_by_block() -> None:
    examples = [{"text": "a rose", "answer": "good"}]
    engine, num = Counting(), 3 * MOST_WITH_TURNS
    order = order_of_rows(engine, submission_of(sentiment(examples=examples), num))
    assert sorted(order) == list(range(num))
    assert set(order[:MOST_WITH_TURNS]) == set(range(MOST_WITH_TURNS))
    assert engine.chunks == [MOST_WITH_TURNS] * 6


@pytest.mark.long
def test_an_engine_with_limits_of_its_own_gets_its_blocks_through_all_that_wraps_it() -> None:
    """A block of 512 rows, of which each is a batch, would be too many batches for a server."""
    examples, num = [{"text": "a rose", "answer": "good"}], 3 * MOST_WITH_TURNS
    for site, chunks in ((sentiment(examples=examples), [num] * 2), (decide(8), [num * 8])):
        engine = Counting()
        engine.own_blocks = BatchEngine.own_blocks  # type: ignore[attr-defined]
        wrapped = CappedEngine(metered(engine, User("ann"), Quota(time.monotonic)), [], None)
        order_of_rows(wrapped, submission_of(site, num))
        assert engine.chunks == chunks


@dataclass
class Batching(ScriptedEngine):
    """Knows which prompts it was asked, as a batch engine does."""

    keys: set[bytes] = field(default_factory=set)

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        self.keys.update(row_keys("server", submission))
        async for replies in super().answer(submission):
            yield replies

    async def find_counted(self, submission: Submission) -> list[int]:
        return [i for i, key in enumerate(row_keys("server", submission)) if key in self.keys]


@pytest.mark.parametrize("site", [
    sentiment(), sentiment(examples=[{"text": "a rose", "answer": "good"}]), decide(3), sentiment(debias=1),
])  # fmt: skip
def test_rows_are_known_again_that_were_sent_however_often_each_is_asked_about(site: CallSite) -> None:
    engine, submission = Batching(), submission_of(site, 20)
    order_of_rows(engine, submission.part(range(5, 20), None))
    assert ask_counted(engine, submission, threading.Event()) == set(range(5, 20))


def test_what_ends_the_engine_ends_all_blocks() -> None:
    engine = Counting(dies_after=3 * MOST_WITH_TURNS, chunk=100)
    with pytest.raises(EngineDeadError):
        order_of_rows(engine, submission_of(sentiment(), 20_000))
    assert engine.num_there == 0


def test_leaving_early_aborts_what_is_under_way_and_asks_no_more() -> None:
    engine, submission = Counting(chunk=100), submission_of(sentiment(), 20_000)

    async def leave() -> None:
        parts = (submission.part(block, None) for block in blocks_of(submission.prompts, 1, 1000))
        stream = answered(engine, parts)
        async for number, replies in stream:
            assert (number, len(replies)) == (0, 100)
            break
        await stream.aclose()

    asyncio.run(leave())
    assert engine.num_there == 0
    assert len(engine.chunks) == AT_ONCE
