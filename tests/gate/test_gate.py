"""The gate with a real clock: waiting, refusing, cancelling."""

from __future__ import annotations

import asyncio
import time
from math import nan

import pytest

from relserve.call.relquery import Sampling, Submission
from relserve.call.standing import Standing
from relserve.errors import AdmissionError, OptionError
from relserve.gate.gate import Gate
from relserve.gate.request_group import Permit
from relserve.gate.rows import GatedRows
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.request import SloClasses
from relserve.policies.admission.variants import make
from relserve.settings import load
from tests.gate.entered import entered
from tests.waiting import PATIENCE_S, wait_until


def gate(name: str = "static-1", **limits_s: float) -> Gate:
    return Gate(AdmissionController(make(name), late="error"), SloClasses(limits_s))


def test_who_comes_second_waits_until_the_first_has_ended() -> None:
    async def run() -> None:
        its, came = gate(), list[str]()

        async def ask(name: str, until: asyncio.Event) -> None:
            async with its.enter(user=name, prompt_tokens=5, max_tokens=5) as permit:
                came.append(name)
                await until.wait()
                permit.progress(5)

        first, second = asyncio.Event(), asyncio.Event()
        tasks = [asyncio.ensure_future(ask("a", first))]
        while not came:
            await asyncio.sleep(0.01)
        tasks.append(asyncio.ensure_future(ask("b", second)))
        await asyncio.sleep(0.15)
        assert came == ["a"]
        first.set()
        await asyncio.wait_for(tasks[0], PATIENCE_S)
        second.set()
        await asyncio.wait_for(tasks[1], PATIENCE_S)
        assert came == ["a", "b"]
        wait_until(lambda: its._watch is None)  # no thread is left behind

    asyncio.run(run())


def test_a_gate_without_a_door_lets_all_in_and_knows_wrong_limits() -> None:
    async def run() -> None:
        its = Gate()
        async with its.enter(prompt_tokens=1, max_tokens=1), its.enter(prompt_tokens=1, max_tokens=1) as one:
            assert isinstance(one, Permit)
        with pytest.raises(OptionError, match="no class of limits 'quick'; there are: none"):
            async with its.enter(prompt_tokens=1, max_tokens=1, slo="quick"):
                pass

    asyncio.run(run())


@pytest.mark.parametrize("slo", [0, -1.0, nan, True, 1e9, "quick"])
def test_a_wrong_limit_is_one_clear_line(slo: object) -> None:
    its = gate(interactive=5)
    with pytest.raises(OptionError) as told, entered(its, prompt_tokens=1, max_tokens=1, slo=slo):
        pass
    assert "\n" not in str(told.value)


def test_past_its_limit_and_not_before_it_is_refused() -> None:
    its = gate(quick=0.4)
    with entered(its, prompt_tokens=1, max_tokens=1):
        began_s = time.monotonic()
        with (
            pytest.raises(AdmissionError, match=r"^its limit is over; it has waited \d+\.\d+ s to be"),
            entered(its, prompt_tokens=1, max_tokens=1, slo="quick"),
        ):
            pass
        assert time.monotonic() - began_s >= 0.4


def test_who_does_not_wait_is_refused_at_once() -> None:
    its = gate()
    with entered(its, prompt_tokens=1, max_tokens=1):
        with (
            pytest.raises(AdmissionError, match=r"^the engine is busy: the limit"),
            entered(its, prompt_tokens=1, max_tokens=1, waits=False),
        ):
            pass
    with entered(its, prompt_tokens=1, max_tokens=1, waits=False) as permit:
        assert permit.waited_s < 5


def test_a_cancelled_task_leaves_its_place() -> None:
    async def run() -> None:
        its, forever = gate(), asyncio.Event()

        async def ask() -> None:
            async with its.enter(prompt_tokens=1, max_tokens=1):
                await forever.wait()

        inside, waits = asyncio.ensure_future(ask()), asyncio.ensure_future(ask())
        await asyncio.sleep(0.1)
        for task in (waits, inside):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        async with asyncio.timeout(PATIENCE_S), its.enter(prompt_tokens=1, max_tokens=1):
            pass
        wait_until(lambda: its._watch is None)

    asyncio.run(run())


@pytest.mark.long
def test_who_waits_is_told_where_it_stands() -> None:
    its, heard = gate(), list[Standing]()
    for _ in range(4):  # speeds are measured
        with entered(its, prompt_tokens=1, max_tokens=10) as permit:
            time.sleep(0.1)
            permit.progress(10)
    with (
        entered(its, prompt_tokens=1, max_tokens=10),
        pytest.raises(AdmissionError),
        entered(its, prompt_tokens=1, max_tokens=10, slo=1.0, told=heard.append),
    ):
        pass
    assert heard
    assert heard[-1].num_waiting == 1
    assert heard[-1].estimate_s is not None
    assert 0.05 < heard[-1].estimate_s < 1


@pytest.mark.parametrize(("limit_s", "is_over"), [(-5.0, True), (0.0, True), (1e9, False)])
def test_rows_whose_deadline_is_over_or_absurdly_far_are_no_mistake(limit_s: float, is_over: bool) -> None:
    """The wall clock may have been set since their statement began."""

    async def run() -> None:
        its = gate()
        with entered(its, prompt_tokens=1, max_tokens=1):
            submission = Submission("rel", ["a"], Sampling(max_tokens=1), deadline_s=time.time() + limit_s)
            rows = GatedRows(its, submission, 1, "ann", 1)
            taking = asyncio.ensure_future(rows.take(1))
            await asyncio.wait({taking}, timeout=PATIENCE_S if is_over else 0.5)
            assert taking.done() == is_over
            if is_over:
                assert isinstance(taking.exception(), AdmissionError)
        if not is_over:
            assert len(await asyncio.wait_for(taking, 5)) == 1
        rows.leave()

    asyncio.run(run())


def group_of(gate: Gate, prompt_tokens: float, kind: str | None = None, slo: float | None = None) -> str:
    return gate.request_group("ann", prompt_tokens, 9, slo, kind, lambda _: None, lambda _: None).group


def test_what_requests_of_a_kind_take_is_told_apart_by_the_lengths_of_their_prompts() -> None:
    its = gate()
    assert group_of(its, 0) == group_of(its, 63) == "/0"
    assert group_of(its, 64) == group_of(its, 127.9) != group_of(its, 128)
    assert len({group_of(its, 2.0**power) for power in range(17)}) == 17 - 5
    assert group_of(its, 100, "soup") == "soup/1"
    assert group_of(its, 100, "", slo=5.0) == "deadline/1"


def test_how_long_answers_are_is_known_for_every_length_of_prompt() -> None:
    its = gate()
    with entered(its, user="ann", prompt_tokens=5, max_tokens=100) as permit:
        permit.progress(7)
    longer = its.request_group("ann", 5000, 100, None, None, lambda _: None, lambda _: None)
    assert longer.tokens == 7


def test_the_earlier_name_of_the_policy_in_time_is_read() -> None:
    assert load({"RELSERVE_ADMISSION": "ours"}).admission == make("ours").name == "in_time"
