"""Requests that vLLM takes back or goes on with: streamed inputs, and a reset that preempts what runs."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.policies.caching.variants import NAMES as CACHING
from relserve.policies.model.online import FixedCost
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import FIRST_GUESS
from tests.modules import later

request = later("vllm.v1.request")
testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
VARIANTS = ("stock", "dpu+marginal", *(f"caching {name}" for name in CACHING))
MODEL = str(MODEL_DIR)
SLOS = {"ttft_slo_s": 0.001, "tpot_slo_s": 0.001}


def led_by(variant: str, num_blocks: int = 60, **settings: Any) -> Any:
    """A scheduler under a variant, or under a caching policy."""
    if variant.startswith("caching "):
        variant, settings = "dpu+marginal", {"caching": variant.removeprefix("caching "), **settings}
    return testing.scheduler_of(MODEL, variant, False, num_blocks, **settings)


def piece(request_id: str, is_last: bool = False) -> Any:
    """A part of a streamed input."""
    request = testing.MadeUpArrival(0, request_id, [7] * 40, 3, {"rel_id": request_id}).request()
    request.resumable = not is_last
    return request


def work(scheduler: Any, worker: testing.MadeUpWorker, ran: testing.WorkerRun, num_steps: int) -> None:
    for _ in range(num_steps):
        output = scheduler.schedule()
        testing.deliver(scheduler, output, worker.execute(output), ran)


@pytest.mark.cells(8)
@pytest.mark.parametrize("is_early", [True, False], ids=["early", "late"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_streamed_input_goes_on_after_the_answer_to_its_first_piece(variant: str, is_early: bool) -> None:
    scheduler = led_by(variant)
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    scheduler.add_request(piece("session"))
    if is_early:
        scheduler.add_request(piece("session"))
    work(scheduler, worker, ran, 4)
    if not is_early:
        scheduler.add_request(piece("session"))
    work(scheduler, worker, ran, 4)
    assert len(ran.tokens["session"]) == 6
    scheduler.add_request(piece("session", is_last=True))
    assert not scheduler.requests
    assert not scheduler.ledger.active
    others = [
        testing.MadeUpArrival(0, f"q0-{i}", [i + 1] * 40, 3, {"rel_id": "q", "rel_rows": 4}) for i in range(4)
    ]
    assert len(testing.run(scheduler, others, False).finished_order) == 4


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_session_that_pauses_can_be_aborted(variant: str) -> None:
    scheduler = led_by(variant)
    scheduler.add_request(piece("session"))
    work(scheduler, testing.MadeUpWorker(), testing.WorkerRun(), 5)
    assert scheduler.ledger.active["session"].num_resident == 1
    scheduler.finish_requests("session", request.RequestStatus.FINISHED_ABORTED)
    assert not scheduler.ledger.active


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_that_a_cache_reset_preempts_can_be_aborted_before_the_next_step(variant: str) -> None:
    scheduler = led_by(variant)
    arrivals = [
        testing.MadeUpArrival(0, f"q0-{i}", [i + 1] * 40, 3, {"rel_id": "q", "rel_rows": 4}) for i in range(4)
    ]
    for arrival in arrivals:
        scheduler.add_request(arrival.request())
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    work(scheduler, worker, ran, 1)
    scheduler.reset_prefix_cache(reset_running_requests=True)
    scheduler.finish_requests(["q0-1", "q0-2"], request.RequestStatus.FINISHED_ABORTED)
    work(scheduler, worker, ran, 4)
    assert sorted(ran.finished_order) == ["q0-0", "q0-3"]
    assert not scheduler.ledger.active


@pytest.mark.parametrize("variant", ["dpu+aba", "dpu+marginal"])
def test_sessions_that_pause_keep_no_row_waiting(variant: str) -> None:
    """Five of them hold seats of vLLM's; every step has work all the same, and admits as without them."""
    scheduler = led_by(variant, 400)
    scheduler.steering.planner.driver.cost = FixedCost(FIRST_GUESS)  # no step is long because others run
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    for number in range(5):
        scheduler.add_request(piece(f"session{number}"))
    work(scheduler, worker, ran, 12)
    for rel_id, num_output in (("long", 60), ("short", 2)):
        tag = {"rel_id": rel_id, "rel_rows": 4}
        for row in range(4):
            prompt = [row + num_output] * 40
            scheduler.add_request(
                testing.MadeUpArrival(0, f"{rel_id}-{row}", prompt, num_output, tag).request()
            )
        for _ in range(6):
            output = scheduler.schedule()
            assert output.total_num_scheduled_tokens
            testing.deliver(scheduler, output, worker.execute(output), ran)
    assert sum(name.startswith("short-") for name in ran.tokens) == 4


@pytest.mark.cells(1)
@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_others_are_served_beside_a_session_that_pauses(variant: str) -> None:
    """It holds memory and a seat, cannot be planned, and goes on once more comes."""
    scheduler = led_by(variant, 12, **(SLOS if variant.startswith("caching ") else {}))
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    scheduler.add_request(piece("session"))
    work(scheduler, worker, ran, 6)
    for number in range(6):
        scheduler.add_request(testing.MadeUpArrival(0, f"q{number}-0", [number] * 100, 30, {}).request())
    if variant.startswith("caching "):
        view = scheduler.steering.planner.table.view(scheduler.steering.planner.costs.model)
        assert "session" not in view.requests
        assert (view.memory.num_blocks, view.limits.max_num_seqs) == (11 - 2, 24 - 1)
    work(scheduler, worker, ran, 260)
    assert sorted(ran.finished_order) == [*(f"q{number}-0" for number in range(6)), "session"]
    scheduler.add_request(piece("session"))
    work(scheduler, worker, ran, 6)
    assert len(ran.tokens["session"]) == 6
    scheduler.add_request(piece("session", is_last=True))
    work(scheduler, worker, ran, 1)
    assert not scheduler.requests
    pool = scheduler.kv_cache_manager.block_pool
    assert pool.get_num_free_blocks() == pool.num_gpu_blocks - 1
