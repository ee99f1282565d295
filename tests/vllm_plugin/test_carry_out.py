"""Carrying out the plan of a step: what vLLM finds during it, and that all is put back."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from relserve.call.rel_tag import RelTag
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.step_plan import StepPlan
from tests.modules import later, needs
from tests.vllm_plugin.fake_request import request

carry_out = later("relserve.vllm_plugin.carry_out")
request_queue = later("vllm.v1.core.sched.request_queue")
queue = later("relserve.vllm_plugin.queue")

pytestmark = [pytest.mark.vllm, needs("vllm")]


def scheduler_of(waiting: Any) -> Any:
    """A scheduler in which "a", "b" and "c" run; "d", "e" and "f" wait."""
    for name in "def":
        waiting.add_request(request(name))
    return SimpleNamespace(
        running=[request(name) for name in "abc"], waiting=waiting, types=SimpleNamespace(planned={}),
        max_num_running_reqs=8, max_num_scheduled_tokens=256, kv_cache_manager=SimpleNamespace(),
    )  # fmt: skip


def our_queue() -> Any:
    ledger = RowLedger()
    for name in "def":
        ledger.arrive(request(name), RelTag(name, 1, 4), 0.0)
    return queue.RelQueue(ledger)


def names(rows: Any) -> str:
    return "".join(row.request_id for row in rows)


@pytest.mark.parametrize("is_ours", [True, False], ids=["our queue", "vLLM's"])
@pytest.mark.parametrize("fails", [False, True], ids=["", "fails"])
def test_a_step_finds_what_the_plan_says_and_all_is_put_back(is_ours: bool, fails: bool) -> None:
    scheduler = scheduler_of(our_queue() if is_ours else request_queue.FCFSRequestQueue())
    a, b, c = scheduler.running
    plan = StepPlan(
        [c, a], held_back=[b], held_requests=frozenset({"d"}), max_admit=1, token_budget=40,
        types={"e": "hidden"},
    )  # fmt: skip
    seen: list[Any] = []

    def step() -> None:
        seen.extend([scheduler.max_num_running_reqs, scheduler.max_num_scheduled_tokens])
        seen.append(dict(scheduler.types.planned))
        seen.append(names(scheduler.running))
        while scheduler.waiting:
            scheduler.running.append(scheduler.waiting.pop_request())
        if fails:
            raise MemoryError("of vLLM")

    with pytest.raises(MemoryError) if fails else nullcontext():
        carry_out.carried_out(scheduler, plan, step)
    assert seen == [3, 40, {"e": "hidden"}, "ca"]
    assert names(scheduler.running) == "caefb"
    assert (scheduler.max_num_running_reqs, scheduler.max_num_scheduled_tokens) == (8, 256)
    assert (names(scheduler.waiting), bool(scheduler.waiting), scheduler.types.planned) == ("d", True, {})
