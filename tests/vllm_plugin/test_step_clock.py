"""The one clock of a scheduler, and who is told of its steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from relserve.policies.model.work import MeasuredStep, Work
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin import step_clock
from relserve.vllm_plugin.step_clock import StepClock
from tests.modules import later

testing = later("lab.made_up_worker")


class Ticks:
    """A clock that a test sets."""

    now_s = 10.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    made = Ticks()
    monkeypatch.setattr(step_clock, "time", made)
    return made


def output_of(tokens: int, new: bool = True) -> Any:
    return SimpleNamespace(
        num_scheduled_tokens={"r": tokens}, total_num_scheduled_tokens=tokens,
        scheduled_new_reqs=["r"] if new else [],
    )  # fmt: skip


def requests_of(computed: int) -> dict[str, Any]:
    return {"r": SimpleNamespace(num_computed_tokens=computed, num_prompt_tokens=30)}


def test_a_step_counts_from_the_end_of_the_one_before_also_where_two_are_under_way(ticks: Ticks) -> None:
    clock, first, second = StepClock(), output_of(30), output_of(1, new=False)
    clock.rested()
    clock.scheduled(first, requests_of(30))
    clock.scheduled(second, requests_of(31))
    assert clock.num_in_flight == 2
    ticks.now_s = 12.0
    assert clock.done(first) == MeasuredStep(Work(30, 1, pairs=465.0), 2.0)
    ticks.now_s = 12.5
    assert clock.done(second) == MeasuredStep(Work(0, 0, 1, 30, kv_tokens=30), 0.5)
    assert clock.num_in_flight == 0


def test_idle_time_and_steps_of_nothing_belong_to_no_step(ticks: Ticks) -> None:
    clock, step = StepClock(), output_of(30)
    ticks.now_s = 20.0
    assert clock.done(output_of(0)) is None
    ticks.now_s = 30.0
    clock.rested()
    clock.scheduled(step, requests_of(30))
    ticks.now_s = 31.0
    assert clock.done(step) == MeasuredStep(clock.latest, 1.0)


def test_without_a_look_at_rows_those_that_are_not_new_count_as_decodes() -> None:
    clock = StepClock()
    clock.scheduled(output_of(30), {}, looks_at_rows=False)
    assert clock.latest == Work(30, 1)
    clock.scheduled(output_of(8, new=False), {}, looks_at_rows=False)
    assert clock.latest == Work(7, 0, 1)


@pytest.mark.parametrize(
    ("variant", "limits", "num"),
    [("dpu+marginal", {}, 1), ("stock", {"rel_tpot_slo_s": 5.0}, 1), ("stock", {}, 0)],
)
def test_a_scheduler_times_each_step_once_and_only_for_who_wants_to_know(
    variant: str, limits: dict[str, float], num: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = testing.scheduler_of(str(MODEL_DIR), variant, False, 400)
    looked: list[Any] = []
    work_of = step_clock.work_of
    monkeypatch.setattr(step_clock, "work_of", lambda *args: looked.append(args) or work_of(*args))
    tag = {"rel_id": "r", "rel_rows": 1, **limits}
    scheduler.add_request(testing.MadeUpArrival(0, "r-0", [1] * 20, 2, tag).request())
    output = scheduler.schedule()
    assert (len(looked), scheduler.clock.num_in_flight) == (num, num)
    scheduler.update_from_output(output, testing.MadeUpWorker().execute(output))
    assert scheduler.clock.num_in_flight == 0
    scheduler.shutdown()
