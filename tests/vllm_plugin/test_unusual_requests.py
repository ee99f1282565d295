"""Requests that vLLM takes back or goes on with: streamed inputs, and a reset that preempts what runs."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed")
from vllm.v1.request import RequestStatus

from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.testing import Arrival, Ran, Worker, deliver, run, scheduler_of

pytestmark = pytest.mark.vllm
VARIANTS = ("stock", "dpu+marginal")


def piece(request_id: str, is_last: bool = False) -> Any:
    """A part of a streamed input."""
    request = Arrival(0, request_id, [7] * 40, 3, {"rel_id": request_id}).request()
    request.resumable = not is_last
    return request


def work(scheduler: Any, worker: Worker, ran: Ran, num_steps: int) -> None:
    for _ in range(num_steps):
        output = scheduler.schedule()
        deliver(scheduler, output, worker.execute(output), ran)


@pytest.mark.parametrize("is_early", [True, False], ids=["early", "late"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_streamed_input_goes_on_after_the_answer_to_its_first_piece(variant: str, is_early: bool) -> None:
    scheduler = scheduler_of(str(MODEL_DIR), variant, False, 60)
    worker, ran = Worker(), Ran()
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
    others = [Arrival(0, f"q0-{i}", [i + 1] * 40, 3, {"rel_id": "q", "rel_rows": 4}) for i in range(4)]
    assert len(run(scheduler, others, False).finished_order) == 4


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_session_that_pauses_can_be_aborted(variant: str) -> None:
    scheduler = scheduler_of(str(MODEL_DIR), variant, False, 60)
    scheduler.add_request(piece("session"))
    work(scheduler, Worker(), Ran(), 5)
    assert scheduler.ledger.active["session"].num_resident == 1
    scheduler.finish_requests("session", RequestStatus.FINISHED_ABORTED)
    assert not scheduler.ledger.active


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_that_a_cache_reset_preempts_can_be_aborted_before_the_next_step(variant: str) -> None:
    scheduler = scheduler_of(str(MODEL_DIR), variant, False, 60)
    arrivals = [Arrival(0, f"q0-{i}", [i + 1] * 40, 3, {"rel_id": "q", "rel_rows": 4}) for i in range(4)]
    for arrival in arrivals:
        scheduler.add_request(arrival.request())
    worker, ran = Worker(), Ran()
    work(scheduler, worker, ran, 1)
    scheduler.reset_prefix_cache(reset_running_requests=True)
    scheduler.finish_requests(["q0-1", "q0-2"], RequestStatus.FINISHED_ABORTED)
    work(scheduler, worker, ran, 4)
    assert sorted(ran.finished_order) == ["q0-0", "q0-3"]
    assert not scheduler.ledger.active
