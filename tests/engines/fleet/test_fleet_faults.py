"""Members of a fleet that die, freeze, slow down, come back as another model, or die of a row."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_fleet import Machine, fleet_of

from relserve.call.relquery import Reply
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.member import State
from relserve.engines.loop import engine_loop, spawn
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError, EngineError, EngineStartError, Failure, FailureKind, OptionError
from tests.waiting import Limit, wait_until

PROMPTS = [f"How was dish {i}?" for i in range(400)]
EXPECTED = texts(ask(ScriptedEngine(), PROMPTS))
SHORT_S = 0.0002


def asked(fleet: FleetEngine, prompts: list[str] = PROMPTS) -> Future[list[Reply]]:
    """A relQuery under way."""
    return spawn(collect(fleet, submission_of(prompts)))


def on_loop(work: Any) -> Any:
    """Do something on the engine loop."""

    async def do() -> Any:
        return work()

    return spawn(do()).result(timeout=TIMEOUT_S)


def in_order(replies: list[Reply], num: int = len(PROMPTS)) -> list[str | None]:
    assert sorted(reply.index for reply in replies) == list(range(num))
    return texts(sorted(replies, key=lambda reply: reply.index))


def up(fleet: FleetEngine, *names: str) -> None:
    on_loop(fleet.roster.start)
    wait_until(lambda: all(fleet.roster.members[name].state is State.UP for name in names))


def test_rows_of_a_member_that_dies_go_elsewhere_and_it_comes_back() -> None:
    said: list[str] = []
    a, b = Machine(0.002), Machine(0.002)
    fleet = fleet_of(said, a=a, b=b)
    its = asked(fleet)
    wait_until(lambda: a.num_answered > 20)
    on_loop(a.die)
    assert in_order(its.result(timeout=TIMEOUT_S)) == EXPECTED
    wait_until(lambda: a.num_starts == 2)
    assert len(fleet.roster.router.open) == 0
    assert [line for line in said if "member a died (the member died)" in line]
    assert {each.num_rows for each in fleet.roster.members.values()} == {0}


@pytest.mark.performance
def test_a_frozen_member_does_not_hold_its_rows(limit_s: Limit) -> None:
    a, b = Machine(0.0005), Machine(0.0005)
    fleet = fleet_of(a=a, b=b)
    up(fleet, "a", "b")
    its = asked(fleet)
    wait_until(lambda: a.num_answered > 20)
    a.frozen, before = True, time.monotonic()
    assert in_order(its.result(timeout=TIMEOUT_S)) == EXPECTED
    assert time.monotonic() - before < limit_s(2.5)
    assert fleet.roster.members["a"].state is State.UP
    wait_until(lambda: a.num_aborted > 0)


@pytest.mark.performance
def test_one_row_at_a_frozen_member_is_asked_elsewhere_within_two_seconds(limit_s: Limit) -> None:
    a, b = Machine(frozen=True), Machine(frozen=True)
    fleet = fleet_of(a=a, b=b)
    up(fleet, "a", "b")
    its = asked(fleet, ["one"])
    wait_until(lambda: a.asked or b.asked)
    began, other = time.monotonic(), b if a.asked else a
    other.frozen = False
    assert in_order(its.result(timeout=TIMEOUT_S), 1) == texts(ask(ScriptedEngine(), ["one"]))
    assert time.monotonic() - began < limit_s(2.0)


@pytest.mark.performance
def test_a_member_three_times_slower_does_not_set_the_latency() -> None:
    def seconds(*row_s: float) -> float:
        fleet = fleet_of(**{f"m{i}": Machine(each) for i, each in enumerate(row_s)})
        up(fleet, *fleet.roster.members)
        began = time.monotonic()
        assert in_order(asked(fleet).result(timeout=TIMEOUT_S)) == EXPECTED
        return time.monotonic() - began

    # By its share 0.75, in halves 1.5; a busy machine has three tries.
    assert any(seconds(0.003, 0.009) < 0.95 * seconds(0.003) for _ in range(3))


@pytest.mark.parametrize("num", [1, 40, 400])
def test_a_row_of_which_members_die_fails_and_the_others_are_answered(num: int) -> None:
    poison = PROMPTS[num // 2]
    members = {name: Machine(SHORT_S, dies_of=lambda prompt: prompt == poison) for name in "abc"}
    fleet = fleet_of(**members)
    replies = asked(fleet, PROMPTS[:num]).result(timeout=TIMEOUT_S)
    found = in_order(replies, num)
    assert found == [None if PROMPTS[i] == poison else EXPECTED[i] for i in range(num)]
    [failed] = [reply for reply in replies if reply.failure is not None]
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.ENGINE
    assert "members died while they were asked this row" in failed.failure.message
    assert sum(each.deaths for each in members.values()) <= 4


@pytest.mark.long
def test_a_row_that_kills_is_found_though_a_frozen_member_has_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.engines.fleet.quarantine.PATIENCE_S", 0.3)
    poison = PROMPTS[0]
    members = {name: Machine(SHORT_S, frozen=True, dies_of=lambda prompt: prompt == poison) for name in "abc"}
    fleet = fleet_of(**members)
    up(fleet, "a", "b", "c")
    its = asked(fleet, PROMPTS[:12])
    wait_until(lambda: any(each.asked for each in members.values()))
    for each in members.values():
        each.frozen = bool(each.asked)
    found = in_order(its.result(timeout=TIMEOUT_S), 12)
    assert found == [None, *EXPECTED[1:12]]
    assert sum(each.deaths for each in members.values()) <= 5


def test_members_of_another_model_are_left_out_until_they_are_mended() -> None:
    said: list[str] = []
    a, b = Machine(SHORT_S), Machine(SHORT_S, start_s=0.1, identity="other")
    fleet = fleet_of(said, a=a, b=b)
    up(fleet, "a")
    wait_until(lambda: fleet.roster.members["b"].state is State.REFUSED)
    assert in_order(asked(fleet).result(timeout=TIMEOUT_S)) == EXPECTED
    assert not b.asked
    [line] = [line for line in said if "left out" in line]
    assert "its model is another one" in line
    b.identity = "same"
    on_loop(lambda: fleet.resume("b"))
    wait_until(lambda: fleet.roster.members["b"].state is State.UP)


def test_a_member_that_returns_with_another_fingerprint_stays_out() -> None:
    a, b = Machine(0.002), Machine(0.002)
    fleet = fleet_of(a=a, b=b)
    its = asked(fleet)
    wait_until(lambda: b.num_answered > 8)
    b.identity = "other"
    on_loop(b.die)
    assert in_order(its.result(timeout=TIMEOUT_S)) == EXPECTED
    wait_until(lambda: fleet.roster.members["b"].state is State.REFUSED)
    assert spawn(fleet.fingerprint()).result(timeout=TIMEOUT_S) == "same"


def test_a_member_that_has_another_model_by_now_is_found_by_its_fingerprint() -> None:
    a, b = Machine(SHORT_S), Machine(SHORT_S)
    fleet = fleet_of(a=a, b=b)
    up(fleet, "a", "b")
    b.identity = "other"
    assert spawn(fleet.fingerprint()).result(timeout=TIMEOUT_S) == "same"
    wait_until(lambda: fleet.roster.members["b"].state is State.REFUSED)


def test_nobody_came_up_names_each_and_why() -> None:
    fleet = fleet_of(a=Machine(down="no memory"), b=Machine(down="no disk"))
    with pytest.raises(EngineStartError, match="a: no memory; b: no disk"):
        asked(fleet).result(timeout=TIMEOUT_S)
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


def test_nobody_is_left_waits_for_one_that_revives_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    a = Machine(0.002)
    fleet = fleet_of(a=a)
    its = asked(fleet)
    wait_until(lambda: a.num_answered > 8)
    on_loop(a.die)
    assert in_order(its.result(timeout=TIMEOUT_S)) == EXPECTED
    monkeypatch.setattr("relserve.engines.fleet.roster.WAIT_S", 0.5)
    its = asked(fleet)
    wait_until(lambda: a.num_answered > 420)
    a.down = "the machine is gone"
    on_loop(a.die)
    with pytest.raises(EngineDeadError, match="no member of the fleet fleet is left to ask: a: the m"):
        its.result(timeout=TIMEOUT_S)
    spawn(fleet.close()).result(timeout=TIMEOUT_S)


@pytest.mark.long
def test_a_drained_member_ends_what_it_has_and_gets_nothing_new() -> None:
    a, b = Machine(0.002), Machine(0.002)
    fleet = fleet_of(a=a, b=b)
    its = asked(fleet)
    wait_until(lambda: a.asked)
    on_loop(lambda: fleet.drain("a"))
    had = len(a.asked)
    assert in_order(its.result(timeout=TIMEOUT_S)) == EXPECTED
    assert len(a.asked) == had
    assert a.num_answered > 0
    on_loop(lambda: fleet.drain("b"))
    with pytest.raises(EngineDeadError, match=r"drained .`relserve fleet resume` ends that"):
        asked(fleet).result(timeout=TIMEOUT_S)
    on_loop(lambda: fleet.resume("a"))
    assert in_order(asked(fleet).result(timeout=TIMEOUT_S)) == EXPECTED
    with pytest.raises(EngineError, match="no member 'c'; there are: a, b"):
        on_loop(lambda: fleet.drain("c"))


def test_what_is_cancelled_is_aborted_everywhere() -> None:
    a, b = Machine(0.01), Machine(0.01)
    fleet = fleet_of(a=a, b=b)

    async def first() -> None:
        async with aclosing(fleet.answer(submission_of(PROMPTS))) as stream:
            async for _ in stream:
                return

    spawn(first()).result(timeout=TIMEOUT_S)
    assert a.num_answered + a.num_aborted == len(a.asked)
    assert b.num_answered + b.num_aborted == len(b.asked)
    assert not fleet.roster.router.open
    assert not fleet.roster.holders


def test_closing_ends_queries_and_asked_again_it_starts_anew() -> None:
    a = Machine(0.01)
    fleet = fleet_of(a=a)
    its = asked(fleet)
    wait_until(lambda: a.num_answered)
    spawn(fleet.close()).result(timeout=TIMEOUT_S)
    with pytest.raises(EngineDeadError, match="closed while it worked"):
        its.result(timeout=TIMEOUT_S)
    a.row_s = 0.0
    assert in_order(asked(fleet).result(timeout=TIMEOUT_S)) == EXPECTED
    assert a.num_starts == 2


def test_a_row_that_a_member_gives_up_is_asked_elsewhere_once() -> None:
    def gives_up(prompt: str, submission: Any) -> Any:
        return Failure(FailureKind.ENGINE, "gave up") if prompt == PROMPTS[3] else "fine"

    a, b = Machine(SHORT_S, script=gives_up), Machine(SHORT_S, script=gives_up)
    replies = asked(fleet_of(a=a, b=b), PROMPTS[:8]).result(timeout=TIMEOUT_S)
    assert in_order(replies, 8).count("fine") == 7
    assert Counter(a.asked + b.asked)[PROMPTS[3]] == 2
    assert {PROMPTS[3]} == set(a.asked) & set(b.asked)


def test_what_is_wrong_with_the_call_ends_it_and_no_member() -> None:
    def refuses(prompt: str, submission: Any) -> Any:
        raise OptionError("it cannot think")

    a = Machine(script=refuses)
    fleet = fleet_of(a=a, b=Machine(script=refuses))
    with pytest.raises(OptionError, match="it cannot think"):
        asked(fleet).result(timeout=TIMEOUT_S)
    assert {each.state for each in fleet.roster.members.values()} <= {State.UP, State.STARTING}


def test_an_engines_own_words_end_the_call_and_no_member() -> None:
    def refuses(prompt: str, submission: Any) -> Any:
        raise EngineError("its tokenizer is not known")

    machines = [Machine(script=refuses) for _ in range(2)]
    fleet = fleet_of(a=machines[0], b=machines[1])
    with pytest.raises(EngineError, match="its tokenizer is not known"):
        asked(fleet).result(timeout=TIMEOUT_S)
    assert [machine.num_starts for machine in machines] == [1, 1]


def test_what_no_engine_should_say_costs_one_member_and_then_the_call() -> None:
    def breaks(prompt: str, submission: Any) -> Any:
        raise TypeError("a mistake of ours")

    fleet = fleet_of(a=Machine(script=breaks), b=Machine(script=breaks))
    with pytest.raises(TypeError, match="a mistake of ours"):
        asked(fleet).result(timeout=TIMEOUT_S)
    assert sum(each.num_deaths for each in fleet.roster.members.values()) == 1


@pytest.mark.long
def test_each_outage_is_waited_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.engines.fleet.roster.WAIT_S", 1.0)
    a = Machine(0.002)
    fleet = fleet_of(a=a)
    for number in (1, 2):
        its = asked(fleet)
        wait_until(lambda number=number: a.num_answered > 400 * number - 390)
        on_loop(a.die)
        assert in_order(its.result(timeout=TIMEOUT_S)) == EXPECTED
        time.sleep(1.1)


Faults = st.sampled_from(["dies", "freezes", "slows", "thaws"])
Fault = st.tuples(st.integers(0, 2), Faults, st.integers(0, 8))


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 120), st.lists(Fault, max_size=6), st.booleans())
def test_whatever_happens_each_row_is_answered_once_or_failed(
    num: int, faults: list[tuple[int, str, int]], has_poison: bool
) -> None:
    """One member at least is never frozen: the last. A death may come when another row is alone with it."""
    poison = PROMPTS[num // 2] if has_poison else None
    machines = [Machine(SHORT_S, dies_of=lambda prompt: prompt == poison) for _ in range(3)]
    fleet = fleet_of(**{f"m{i}": each for i, each in enumerate(machines)})

    patch = pytest.MonkeyPatch()
    patch.setattr("relserve.engines.fleet.quarantine.PATIENCE_S", 0.3)
    patch.setattr("relserve.engines.fleet.roster.LONGEST_DELAY_S", 0.4)

    async def happen() -> list[Reply]:
        work = asyncio.ensure_future(collect(fleet, submission_of(PROMPTS[:num])))
        for place, fault, after in faults:
            await asyncio.sleep(after / 500)
            machine = machines[place]
            if fault == "dies":
                machine.die()
            elif fault == "slows":
                machine.row_s *= 3
            else:
                machine.frozen = fault == "freezes" and place < 2
        try:
            return await work
        finally:
            await fleet.close()
            patch.undo()

    replies = spawn(happen()).result(timeout=TIMEOUT_S)
    found = in_order(replies, num)
    failed = {reply.index for reply in replies if reply.failure is not None}
    num_deaths = [fault for _, fault, _ in faults].count("dies")
    assert failed - {num // 2} == set() if not num_deaths else len(failed) <= has_poison + num_deaths
    assert has_poison or not failed
    assert [text for i, text in enumerate(found) if i not in failed] == [
        text for i, text in enumerate(EXPECTED[:num]) if i not in failed
    ]
    assert not fleet.roster.router.open
    assert engine_loop().is_running()
