"""A request of vLLM's web app at a gate: only whole answers tell how long answers are, and how old it is."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from relserve.engines.local.entering import CallerLeft, Entering, OpenAICaller
from relserve.errors import AdmissionError
from relserve.gate.gate import Gate
from relserve.gate.made import make_gate
from tests.modules import needs

pytestmark = needs("vllm")


def entering(age_s: float = 0.0, slo: float | None = None) -> Entering:
    return Entering("ann", 10, 100, slo, True, ["cmpl-1"], time.time() - age_s)


async def asked(gate: Gate, hangs_up: bool = False, status: int = 200, says: int = 7) -> None:
    """A request that says so many tokens."""
    hung_up = asyncio.Event()

    async def receive() -> Any:
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        await asyncio.sleep(0)

    caller = OpenAICaller(b"{}", receive)
    its = entering()
    async with its.entered(gate, lambda ids: 0, caller) as permit:
        counted = its.counting(send, permit, caller)
        await counted({"type": "http.response.start", "status": status})
        await counted({
            "type": "http.response.body", "body": b'{"completion_tokens":%d}' % says, "more_body": True,
        })  # fmt: skip
        if hangs_up:
            hung_up.set()
            await asyncio.sleep(0.01)
        await counted({"type": "http.response.body", "body": b""})


def expected(gate: Gate) -> float:
    return gate.request_group("ann", 5, 100, None, None, lambda _: None, lambda _: None).tokens


def test_a_whole_answer_tells_how_long_answers_are() -> None:
    gate = make_gate("static-1")
    asyncio.run(asked(gate))
    assert expected(gate) == 7


@pytest.mark.parametrize("how", [{"hangs_up": True}, {"status": 400}])
def test_an_answer_that_is_cut_off_and_an_error_tell_nothing_and_give_up_the_place(how: Any) -> None:
    gate = make_gate("static-1")
    with pytest.raises(CallerLeft):
        asyncio.run(asked(gate, **how))
    assert expected(gate) == 100
    asyncio.run(asyncio.wait_for(asked(gate), 10))


def test_a_deadline_that_passes_on_the_way_to_the_gate_is_no_matter_of_load() -> None:
    """It was not over when it was looked at, and is for the gate, whose clock rounds so short a time away."""
    late = entering(age_s=-60.0, slo=1e-12)

    async def enters() -> None:
        async with late.entered(make_gate("in_time", {}), lambda ids: 0, caller_of_nobody()):
            pass

    with pytest.raises(AdmissionError, match="the deadline of 1e-12 s has passed") as caught:
        asyncio.run(enters())
    assert caught.value.is_over


def caller_of_nobody() -> OpenAICaller:
    return OpenAICaller(b"{}", asyncio.Event().wait)


def test_a_limit_counts_from_when_the_request_came_to_the_server() -> None:
    async def enters(age_s: float) -> None:
        caller = OpenAICaller(b"{}", asyncio.Event().wait)
        async with entering(age_s, slo=5.0).entered(make_gate("static-1"), lambda ids: 0, caller):
            raise CallerLeft

    with pytest.raises(CallerLeft):
        asyncio.run(enters(1.0))
    with pytest.raises(AdmissionError, match="the deadline of 5 s has passed") as caught:
        asyncio.run(enters(6.0))
    assert caught.value.is_over
