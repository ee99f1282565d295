"""llm_workflows(): slack and urgency as the engine tells them, and deadlines that were met or missed."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from relserve.machine.engine_status import EngineStatus, RelStatus
from relserve.session.workflows import WorkflowRecord, Workflows


def engine(*rels: RelStatus) -> EngineStatus:
    return EngineStatus(1, None, "m", "dpu+marginal", time.time(), 1, 0, 0.1, len(rels), list(rels))


def rel(workflow: str | None, slack_s: float | None, urgency_s: float | None) -> RelStatus:
    return RelStatus("r", 1, 0, 0, "waiting", 1.0, 1.0, 1.0, workflow, "stage", 9.0, slack_s, urgency_s)


def rows(record: WorkflowRecord, *engines: EngineStatus) -> dict[str, Any]:
    history = Workflows(lambda: engines)
    history.begin(record)
    (row,) = history.workflows_table().to_pylist()
    return dict(row)


def test_under_way_it_is_what_the_engine_says_of_the_most_urgent_step() -> None:
    record = WorkflowRecord("wf-1", "?", deadline_s=60.0)
    found = rows(
        record, engine(rel("wf-1", 8.0, -3.0), rel("wf-2", 1.0, 5.0)), engine(rel("wf-1", 6.0, -2.0))
    )
    assert found["slack"] == pytest.approx(6.0, abs=5)
    assert found["slack"] < 6.5
    assert found["urgency"] == pytest.approx(-2.0, abs=5)
    assert found["met"] is None


@pytest.mark.parametrize("engines", [[], [engine(rel(None, 1.0, 1.0))], [engine(rel("wf-1", None, None))]])
def test_where_no_engine_tells_it_is_not_known(engines: list[EngineStatus]) -> None:
    found = rows(WorkflowRecord("wf-1", "?", deadline_s=60.0), *engines)
    assert (found["slack"], found["urgency"], found["met"]) == (None, None, None)


def test_once_ended_slack_is_what_was_left_of_the_deadline() -> None:
    in_time = rows(WorkflowRecord("wf-1", "?", seconds=4.0, deadline_s=10.0, met=True))
    assert (in_time["slack"], in_time["urgency"], in_time["met"]) == (6.0, None, True)
    late = rows(WorkflowRecord("wf-1", "?", seconds=12.0, deadline_s=10.0, met=False))
    assert (late["slack"], late["met"]) == (-2.0, False)


def test_one_that_goes_on_after_its_deadline_has_missed_it() -> None:
    began_s = time.monotonic() - 20
    assert rows(WorkflowRecord("wf-1", "?", began_s=began_s, deadline_s=10.0))["met"] is False


@pytest.mark.parametrize("jump", [timedelta(days=1), -timedelta(days=1)])
def test_a_wall_clock_that_was_set_since_says_nothing_of_the_deadline(jump: timedelta) -> None:
    started = datetime.now(timezone.utc) - jump
    assert rows(WorkflowRecord("wf-1", "?", started=started, deadline_s=60.0))["met"] is None
    late = WorkflowRecord("wf-1", "?", started=started, began_s=time.monotonic() - 20, deadline_s=10.0)
    assert rows(late)["met"] is False


def test_without_a_deadline_no_engine_is_looked_at() -> None:
    history = Workflows(lambda: pytest.fail("looked"))
    history.begin(WorkflowRecord("wf-1", "?"))
    history.begin(WorkflowRecord("wf-2", "?", seconds=1.0, deadline_s=3.0))
    first, second = history.workflows_table().to_pylist()
    assert (first["slack"], second["slack"]) == (None, 2.0)
