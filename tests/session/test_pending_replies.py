"""`Session.submit`: replies as they come in a thread or an event loop, given up, or cut by a deadline."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from relserve.call.rel_tag import RelTag
from relserve.call.relquery import Reply, Sampling, Submission
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import Cancelled, EngineDeadError, FailureKind, RelserveError
from relserve.session.session import Session
from tests.waiting import PATIENCE_S, act_when, wait_until, with_time_enough

PROMPTS = [str(i) for i in range(20)]


def submission(**more: Any) -> Submission:
    return Submission("rel", PROMPTS, Sampling(8), **more)


def session_of(engine: Any) -> Session:
    return Session(lambda model: engine)


def test_all_replies_in_the_prompts_order_and_no_record() -> None:
    session = session_of(ScriptedEngine(echo, chunk=3))
    assert [reply.text for reply in session.submit(submission()).result()] == PROMPTS
    assert session.history.queries() == []


def test_batches_come_one_by_one_in_a_thread() -> None:
    pending = session_of(ScriptedEngine(echo, chunk=5)).submit(submission())
    assert [[reply.text for reply in batch] for batch in pending] == [
        PROMPTS[i : i + 5] for i in (0, 5, 10, 15)
    ]


async def collected(session: Session, asked: Submission) -> list[str | None]:
    return [reply.text async for batch in session.submit(asked) for reply in batch]


def test_batches_come_one_by_one_in_any_event_loop() -> None:
    session = session_of(ScriptedEngine(echo, chunk=3, pause_s=0.001))
    assert asyncio.run(collected(session, submission())) == PROMPTS
    assert spawn(collected(session, submission())).result(timeout=PATIENCE_S) == PROMPTS  # the engines' own


def test_what_is_unanswered_at_the_deadline_fails_and_is_aborted() -> None:
    def ask(seconds: float) -> tuple[ScriptedEngine, list[Reply]]:
        engine = ScriptedEngine(echo, chunk=5, stalls_after=5)
        return engine, session_of(engine).submit(submission(deadline_s=time.time() + seconds)).result()

    engine, replies = with_time_enough(ask, lambda told: told[0].num_answered)
    answered = [reply for reply in replies if reply.failure is None]
    late = [reply for reply in replies if reply.failure is not None]
    assert [reply.text for reply in answered] == PROMPTS[: len(answered)]
    assert len(answered) == 5
    assert {reply.failure.kind for reply in late if reply.failure} == {FailureKind.DEADLINE}
    assert [reply.index for reply in replies] == list(range(20))
    assert engine.aborted == len(late)


def test_a_deadline_that_has_passed_fails_all() -> None:
    replies = session_of(ScriptedEngine(echo, pause_s=0.01)).submit(submission(deadline_s=1.0)).result()
    assert [reply.failure and reply.failure.kind for reply in replies] == [FailureKind.DEADLINE] * 20


def test_a_deadline_in_time_changes_nothing() -> None:
    asked = submission(deadline_s=time.time() + 60)
    assert [reply.text for reply in session_of(ScriptedEngine(echo)).submit(asked).result()] == PROMPTS


def test_the_deadline_and_the_workflow_are_in_the_tag() -> None:
    engine = ScriptedEngine(echo)
    given = submission(workflow_id="w", stage="generate", deadline_s=9e9, kind="k")
    session_of(engine).submit(given).result()
    (seen,) = engine.submissions
    assert seen.tag() == RelTag("rel", 20, 8, "w", "generate", 9e9, "k")


def test_cancel_aborts_in_the_engine_and_ends_the_replies() -> None:
    engine = ScriptedEngine(echo, chunk=1, stalls_after=3)
    pending = session_of(engine).submit(submission())
    act_when(lambda: engine.num_answered == 3, pending.cancel)
    with pytest.raises(Cancelled):
        list(pending)
    wait_until(lambda: engine.aborted == 17)


def test_an_iteration_left_early_aborts_the_rest() -> None:
    engine = ScriptedEngine(echo, chunk=1, stalls_after=1)

    async def first(session: Session) -> str | None:
        batches: Any = aiter(session.submit(submission()))
        batch = await anext(batches)
        await batches.aclose()
        return str(batch[0].text)

    assert asyncio.run(first(session_of(engine))) == "0"
    wait_until(lambda: engine.aborted == 19)
    engine.stalls_after = 2
    for _ in session_of(engine).submit(submission()):
        break
    wait_until(lambda: engine.aborted == 38)


def test_a_dead_engine_ends_the_replies_with_its_error() -> None:
    pending = session_of(ScriptedEngine(echo, chunk=1, dies_after=3)).submit(submission())
    assert [pending.next_batch() is not None for _ in range(3)] == [True] * 3
    with pytest.raises(EngineDeadError):
        pending.next_batch()
    with pytest.raises(EngineDeadError):
        asyncio.run(collected(session_of(ScriptedEngine(echo, dies_after=3)), submission()))


def test_a_prompt_that_the_engine_forgets_is_an_error() -> None:
    class Forgetful(ScriptedEngine):
        async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
            yield [Reply(0, "only this")]

    with pytest.raises(RelserveError, match="left 19 of 20 prompts without a reply"):
        session_of(Forgetful()).submit(submission()).result()


def test_what_was_asked_is_freed_without_the_collector() -> None:
    pending = session_of(ScriptedEngine(echo)).submit(submission())
    pending.result()
    freed = weakref.ref(pending)
    gc.disable()
    try:
        del pending
        assert freed() is None
    finally:
        gc.enable()
