"""The scripted engine itself: what other tests lean on."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from contextlib import aclosing

import pytest
from asking import ask, collect, submission_of, texts

from relserve.api import find_engine
from relserve.call.answer_types import Grammar, Number
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import EngineDeadError, Failure, FailureKind
from tests.waiting import PATIENCE_S

TEN = [f"row {i}" for i in range(10)]


def test_free_text_is_a_digest_that_depends_on_the_prompt_alone():
    first, second = texts(ask(ScriptedEngine(), TEN)), texts(ask(ScriptedEngine(chunk=3), TEN[::-1]))
    assert first == second[::-1]
    assert len(set(first)) == 10


def test_every_choice_turns_up():
    choices = ("red", "green", "blue")
    replies = texts(ask(ScriptedEngine(), [str(i) for i in range(100)], grammar=Grammar(choices=choices)))
    assert set(replies) == set(choices)


def test_a_number_grammar_gives_a_digit():
    replies = texts(ask(ScriptedEngine(), TEN, grammar=Grammar(regex="[0-9]{1,3}")))
    assert all(len(reply) == 1 and reply.isdigit() for reply in replies)


@pytest.mark.parametrize(("lo", "hi"), [(100, 5000), (-3000, -1500), (0.5, 20.5)])
def test_a_score_lies_within_its_bounds(lo, hi):
    kind = Number(lo, hi)
    assert kind.grammar.regex, "a list of choices would not show it"
    replies = texts(ask(ScriptedEngine(), [str(i) for i in range(200)], grammar=kind.grammar))
    assert [kind.parse(reply).failure for reply in replies] == [None] * 200
    assert len(set(replies)) > 10


def test_the_shared_one_does_not_pile_up_submissions():
    engine = find_engine("scripted")
    assert len(ask(engine, TEN)) == 10
    assert engine.submissions == []


def test_scripts_may_fail_rows_and_see_the_submission():
    def script(prompt, submission):
        if prompt == "row 3":
            return Failure(FailureKind.REFUSED, "not this one")
        return f"{submission.system}: {prompt}"

    replies = ask(ScriptedEngine(script=script), TEN, "sys")
    assert replies[3].failure == (FailureKind.REFUSED, "not this one")
    assert replies[4].text == "sys: row 4"


def test_echo_and_over_context():
    replies = ask(ScriptedEngine(script=echo, max_prompt_chars=5), ["short", "longer"])
    assert replies[0].text == "short"
    assert replies[1].failure.kind is FailureKind.OVER_CONTEXT
    assert "6 characters" in replies[1].failure.message


def test_it_counts_what_it_was_asked():
    engine = ScriptedEngine()
    ask(engine, TEN)
    ask(engine, TEN[:3])
    assert [len(s.prompts) for s in engine.submissions] == [10, 3]
    assert engine.num_prompts == engine.num_answered == 13
    assert engine.aborted == 0


def test_replies_come_in_chunks():
    async def sizes():
        return [len(batch) async for batch in ScriptedEngine(chunk=4).answer(submission_of(TEN))]

    assert spawn(sizes()).result(timeout=PATIENCE_S) == [4, 4, 2]


def test_it_dies_when_told_to_and_what_came_stands():
    engine, came = ScriptedEngine(chunk=2, dies_after=4), []

    async def go():
        async for batch in engine.answer(submission_of(TEN)):
            came.extend(batch)

    with pytest.raises(EngineDeadError):
        spawn(go()).result(timeout=PATIENCE_S)
    assert len(came) == 4
    assert engine.aborted == 6


def test_it_dies_after_exactly_so_many_replies():
    with pytest.raises(EngineDeadError):
        ask(ScriptedEngine(dies_after=4), TEN)


@pytest.mark.parametrize("how", ["left", "cancelled"])
def test_what_was_delivered_is_not_counted_as_aborted(how):
    engine, came = ScriptedEngine(chunk=4, pause_s=0.05), []

    async def leave():
        async with aclosing(engine.answer(submission_of(TEN))) as stream:
            async for batch in stream:
                came.extend(batch)
                if how == "left":
                    break
                asyncio.current_task().cancel()

    future = spawn(leave())
    if how == "left":
        future.result(timeout=PATIENCE_S)
    else:
        with pytest.raises(CancelledError):
            future.result(timeout=PATIENCE_S)
    assert len(came) == 4
    assert engine.aborted == 6


def test_a_pause_leaves_room_for_others():
    async def go():
        slow, fast = ScriptedEngine(chunk=1, pause_s=0.05), ScriptedEngine()
        waiting = asyncio.create_task(collect(slow, submission_of(TEN)))
        await collect(fast, submission_of(TEN))
        assert not waiting.done()
        await waiting

    spawn(go()).result(timeout=PATIENCE_S)
