"""Clients that say what is not so, inside vLLM's real scheduler: others are served as if they had not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from relserve.policies.model.online import FixedCost
from relserve.policies.scheduling.variants import NAMES
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import FIRST_GUESS
from tests.clocks import read_here
from tests.modules import later

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
MODEL = str(MODEL_DIR)
STEP_S = 0.005  # of the clock in a step that is made up
ABSURD = [
    {"rel_rows": 10**9}, {"rel_rows": 10**12, "rel_ol": 10**12}, {"rel_ol": 1},
    {"rel_rows": 1, "rel_likely": 1},
    {"rel_rows": 10**9, "rel_ol": 1, "rel_likely": 10**15, "rel_kind": "k"},
]  # fmt: skip


def rows(rel: str, count: int, num_output: int, step: int = 0, **said: Any) -> list[testing.MadeUpArrival]:
    tag = {"rel_id": rel, "rel_rows": count, **said}
    return [
        testing.MadeUpArrival(step, f"{rel}-{i}", [len(rel) * 100 + i] * 60, num_output, tag)
        for i in range(count)
    ]


@pytest.mark.cells(6)
@pytest.mark.parametrize("variant", NAMES)
@pytest.mark.parametrize("said", ABSURD, ids=lambda said: ",".join(said))
def test_whatever_is_said_all_get_their_tokens(variant: str, said: dict[str, Any]) -> None:
    num_blocks = (30, 400)[(NAMES.index(variant) + ABSURD.index(said)) % 2]  # tight or roomy, by turns
    arrivals = [
        *rows("liar", 9, 90, **said), *rows("honest", 12, 30, step=2), *rows("liars", 5, 200, step=4, **said),
        *rows("short", 3, 2, step=9),
    ]  # fmt: skip
    scheduler = testing.scheduler_of(MODEL, variant, False, num_blocks)
    ran = testing.run(scheduler, arrivals, False)
    assert ran.tokens == {arrival.request_id: arrival.expected() for arrival in arrivals}
    assert ran.leaked_blocks == 0


def forecast_s(said: int, num_liars: int, is_done: bool = False) -> float:
    """What the guard takes FCFS to give a relQuery that comes after others that announce so much.

    With one cost model and one clock throughout, for this machine's hiccups would tell in both.
    """
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400, patience=2.5)
    planner, now_s = scheduler.steering.planner, [time.monotonic()]
    planner.driver.cost = FixedCost(FIRST_GUESS)
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    with pytest.MonkeyPatch.context() as patch:
        read_here(patch, lambda: now_s[0], "monotonic")
        for number in range(num_liars):
            for arrival in rows(f"liar{number}", 1, 3, rel_rows=said):
                scheduler.add_request(arrival.request())
        for _ in range(12 if is_done else 1):
            output = scheduler.schedule()
            now_s[0] += STEP_S
            testing.deliver(scheduler, output, worker.execute(output), ran)
        assert bool(scheduler.requests) != is_done
        for arrival in rows("victim", 20, 50):
            scheduler.add_request(arrival.request())
        scheduler.schedule()
        found = planner.driver.policy.guard.shadow.forecast(FIRST_GUESS, planner.limits)["victim"]
    scheduler.shutdown()
    return float(found)


def test_rows_that_do_not_come_do_not_switch_the_guard_off_for_others() -> None:
    honest = forecast_s(1, num_liars=1)
    assert 0 < forecast_s(10**9, num_liars=1) < 3 * honest
    assert 0 < forecast_s(100, num_liars=1) < 3 * honest


def test_those_whose_rows_have_ended_are_not_waited_for() -> None:
    assert forecast_s(10**9, num_liars=8, is_done=True) < 1.5 * forecast_s(1, num_liars=8, is_done=True)


def test_who_announces_more_than_there_is_waits_for_it() -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400)
    for arrival in [*rows("liar", 20, 50, rel_rows=10**9), *rows("honest", 20, 50)]:
        scheduler.add_request(arrival.request())
    scheduler.schedule()
    rels = {rel.rel_id: rel for rel in scheduler.publisher.snapshot(scheduler, time.monotonic()).rels}
    liar, honest = rels["liar"].priority, rels["honest"].priority
    assert liar is not None
    assert honest is not None
    assert liar > 2 * honest
    scheduler.shutdown()
