"""Deadlines inside vLLM's scheduler, without a model: what a request says is what is ordered by and shown."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple

from relserve.call.rel_tag import RelTag
from relserve.machine.engine_status import EngineStatus, status_json
from relserve.tiny import MODEL_DIR
from tests.modules import later

testing = later("lab.made_up_worker")

MODEL = str(MODEL_DIR)
OURS = "dpu+marginal"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


def with_deadlines(seed: int) -> list[testing.MadeUpArrival]:
    """A workload of which every other relQuery is a step of a workflow with a deadline, some long past."""
    arrivals = testing.workload(seed)
    for arrival in arrivals:
        number = int(arrival.extra_args["rel_id"][1:])
        if number % 2:
            seconds = (-5.0, 0.05, 60.0, 1e6)[number // 2 % 4]
            arrival.extra_args |= {
                "rel_workflow": f"w{number // 4}", "rel_stage": "s", "rel_deadline_s": time.time() + seconds
            }  # fmt: skip
    return arrivals


def step_once(scheduler: Any) -> list[str]:
    """One step; the rows that it computes."""
    output = scheduler.schedule()
    scheduler.update_from_output(output, testing.MadeUpWorker().execute(output))
    return list(output.num_scheduled_tokens)


@pytest.mark.cells(2)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("num_blocks", [40, 400], ids=["tight", "roomy"])
@pytest.mark.parametrize("variant", ["hexgen", OURS])
def test_every_row_gives_its_tokens(variant: str, num_blocks: int, is_async: bool) -> None:
    arrivals = with_deadlines(4)
    scheduler = testing.scheduler_of(MODEL, variant, is_async, num_blocks)
    ran = testing.run(scheduler, arrivals, is_async)
    assert ran.tokens == {arrival.request_id: arrival.expected() for arrival in arrivals}
    assert ran.leaked_blocks == 0
    scheduler.shutdown()


@pytest.mark.parametrize(
    ("variant", "order"), [("hexgen", ["late", "tight", "loose"]), (OURS, ["tight", "loose", "late"])]
)
def test_the_tight_one_runs_first_and_the_one_that_is_late_last_as_published_before_all(
    variant: str, order: list[str]
) -> None:
    scheduler = testing.scheduler_of(MODEL, variant, False, 400)
    for token, (name, seconds) in enumerate((("late", -5.0), ("loose", 9000.0), ("tight", 30.0)), 1):
        tag = RelTag(name, 1, 5, f"w {name}", "s", time.time() + seconds).args()
        scheduler.add_request(testing.MadeUpArrival(0, f"{name}-0", [token] * 20, 5, tag).request())
    assert step_once(scheduler) == [f"{name}-0" for name in order]
    scheduler.shutdown()


def test_a_plain_call_that_is_late_keeps_its_place_by_length() -> None:
    scheduler = testing.scheduler_of(MODEL, OURS, False, 400)
    for name, length in (("long", 90), ("late", 40), ("short", 10)):
        deadline_s = time.time() - 5.0 if name == "late" else None
        tag = RelTag(name, 1, 5, deadline_s=deadline_s).args()
        scheduler.add_request(testing.MadeUpArrival(0, f"{name}-0", [length] * length, 5, tag).request())
    assert step_once(scheduler) == ["short-0", "late-0", "long-0"]
    scheduler.shutdown()


def test_a_snapshot_tells_deadline_slack_and_urgency() -> None:
    scheduler = testing.scheduler_of(MODEL, OURS, False, 400)
    tag = RelTag("r", 1, 5, "wf-1", "revise", time.time() + 60.0).args()
    scheduler.add_request(testing.MadeUpArrival(0, "r-0", [3] * 100, 5, tag).request())
    scheduler.add_request(testing.MadeUpArrival(0, "p-0", [4] * 100, 5, RelTag("p", 1, 5).args()).request())
    step_once(scheduler)
    found = scheduler.publisher.snapshot(scheduler, time.monotonic())
    rels = {rel.rel_id: rel for rel in found.rels}
    assert (rels["r"].workflow, rels["r"].stage) == ("wf-1", "revise")
    assert rels["r"].deadline_s == pytest.approx(60, abs=10)
    assert rels["r"].slack_s is not None
    assert rels["r"].slack_s < rels["r"].deadline_s
    assert rels["r"].urgency_s is not None
    assert rels["r"].urgency_s < 0
    assert astuple(rels["p"])[8:] == (None,) * 5
    assert msgspec.json.decode(status_json(found), type=EngineStatus) == found
    scheduler.shutdown()


@pytest.mark.parametrize("said", ["soon", None, True, float("nan"), float("inf"), [], {}])
def test_what_is_no_time_is_no_deadline(said: Any) -> None:
    scheduler = testing.scheduler_of(MODEL, OURS, False, 400)
    tag = {"rel_id": "r", "rel_rows": 1, "rel_deadline_s": said}
    scheduler.add_request(testing.MadeUpArrival(0, "r-0", [3] * 100, 5, tag).request())
    assert scheduler.ledger.active["r"].deadline_s is None
    assert step_once(scheduler) == ["r-0"]
    scheduler.shutdown()
