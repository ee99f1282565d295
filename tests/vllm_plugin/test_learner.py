"""Learning from steps on a thread of its own: in order, never within a step, and never an engine's end."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from relserve.policies.model.online import OnlineCost
from relserve.policies.model.work import Work
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.learner import StepLearner
from tests.modules import later
from tests.waiting import PATIENCE_S, wait_until

testing = later("lab.made_up_worker")
LIMITS = {"rel_id": "r", "rel_rows": 8, "rel_tpot_slo_s": 5.0}


class Slow:
    """Learns only when it may, and notes what it learnt and on which thread."""

    def __init__(self) -> None:
        self.may, self.begun = threading.Event(), threading.Event()
        self.steps: list[tuple[Work, float]] = []
        self.threads: set[str] = set()

    def learn(self, work: Work, seconds: float) -> None:
        self.begun.set()
        assert self.may.wait(PATIENCE_S)
        self.steps.append((work, seconds))
        self.threads.add(threading.current_thread().name)


def test_steps_are_learnt_in_their_order_and_whoever_hands_them_over_does_not_wait() -> None:
    learner, slow = StepLearner(), Slow()
    for number in range(50):
        learner.put(slow.learn, Work(number), 1.0)
    assert slow.begun.wait(PATIENCE_S)
    assert not slow.steps
    slow.may.set()
    learner.flush()
    assert [work.prefill_tokens for work, _ in slow.steps] == list(range(50))
    assert slow.threads == {"relserve-learner"}
    learner.close()


def test_what_fails_is_told_once_and_the_next_step_is_learnt_from(caplog: pytest.LogCaptureFixture) -> None:
    learner, learnt = StepLearner(), list[float]()

    def learn(work: Work, seconds: float) -> None:
        if seconds > 1:
            raise ZeroDivisionError
        learnt.append(seconds)

    for seconds in (1.0, 2.0, 3.0, 0.5):
        learner.put(learn, Work(), seconds)
    learner.flush()
    assert learnt == [1.0, 0.5]
    assert [record.message for record in caplog.records] == ["a step's time could not be learnt from"]
    learner.close()


def test_closed_it_learns_what_it_had_and_no_more() -> None:
    learner, learnt = StepLearner(), list[float]()
    learner.put(lambda _, seconds: learnt.append(seconds), Work(), 1.0)
    learner.close()
    learner.put(lambda _, seconds: learnt.append(seconds), Work(), 2.0)
    learner.flush()
    assert learnt == [1.0]
    never_used = StepLearner()
    never_used.close()
    never_used.put(lambda _, seconds: learnt.append(seconds), Work(), 3.0)
    assert learnt == [1.0]


def test_where_no_thread_can_be_started_the_engine_serves_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def start(thread: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    learner, learnt = StepLearner(), list[float]()
    for _ in range(3):
        learner.put(lambda _, seconds: learnt.append(seconds), Work(), 1.0)
    learner.flush()
    assert not learnt
    assert len(caplog.records) == 1
    learner.close()


def test_the_thread_of_a_learner_that_nobody_closed_ends_with_it() -> None:
    learner = StepLearner()
    learner.put(lambda *_: None, Work(), 1.0)
    learner.flush()
    thread = learner._thread
    del learner
    gc.collect()
    wait_until(lambda: thread is not None and not thread.is_alive())


@pytest.mark.parametrize("variant", ["dpu+marginal", "stock"])
def test_a_step_waits_for_no_fit(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps go on, and rows end, while the first of them is still being learnt from."""
    scheduler = testing.scheduler_of(str(MODEL_DIR), variant, False, 400)
    slow = Slow()
    monkeypatch.setattr(scheduler.budgets.policy.model, "add", slow.learn)
    if variant != "stock":
        monkeypatch.setattr(OnlineCost, "add", lambda _, *step: slow.learn(*step))
    for row in range(8):
        scheduler.add_request(testing.MadeUpArrival(0, f"r-{row}", [row] * 20, 6, LIMITS).request())
    worker, num_steps = testing.MadeUpWorker(), 0
    while scheduler.requests:
        output = scheduler.schedule()
        scheduler.update_from_output(output, worker.execute(output))
        num_steps += bool(output.total_num_scheduled_tokens)
    assert not slow.steps
    slow.may.set()
    scheduler.learner.flush()
    learners = 1 if variant == "stock" else 2
    assert len(slow.steps) == learners * num_steps
    assert slow.threads == {"relserve-learner"}
    scheduler.shutdown()
