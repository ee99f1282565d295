"""Records of workflows: bounded, and shown as tables."""

import pytest

from relserve.call.relquery import Usage
from relserve.server.histories import Histories
from relserve.session import workflows
from relserve.session.workflows import (
    STEP_SCHEMA,
    WORKFLOW_SCHEMA,
    StepRecord,
    WorkflowRecord,
    Workflows,
    new_workflow_id,
)


def test_questions_and_steps_are_shown_as_tables() -> None:
    history = Workflows()
    record = WorkflowRecord("wf-1", "how many?", sql="SELECT 1", stages=("a", "b"), usage=Usage(10, 4, 2))
    history.begin(record)
    history.begin(WorkflowRecord("wf-2", "and now?", error="no"))
    history.add_step(StepRecord("wf-1", "a", "rel-1", 3, 1, Usage(10, 4, 2), 0.5))
    table, steps = history.workflows_table(), history.steps_table()
    assert (table.schema, steps.schema) == (WORKFLOW_SCHEMA, STEP_SCHEMA)
    first, second = table.to_pylist()
    assert (first["sql"], first["stages"], first["prompt_tokens"]) == ("SELECT 1", ["a", "b"], 10)
    assert (second["error"], second["prompt_tokens"], second["met"]) == ("no", None, None)
    assert steps.to_pylist()[0] == dict(
        workflow_id="wf-1", stage="a", rel_id="rel-1", calls=3, cached_answers=1, prompt_tokens=10,
        cached_tokens=4, output_tokens=2, seconds=0.5, error=None,
    )  # fmt: skip


def test_steps_are_given_by_workflow() -> None:
    history = Workflows()
    for number in (1, 2, 1):
        history.add_step(StepRecord(f"wf-{number}", "a", "rel", 1, 0, Usage(), None))
    assert (len(history.steps()), len(history.steps("wf-1")), history.steps("wf-3")) == (3, 2, [])


def test_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflows, "MAX_WORKFLOWS", 2)
    history = Workflows()
    for number in range(3):
        history.begin(WorkflowRecord(f"wf-{number}", "?"))
    assert [record.workflow_id for record in history.workflows()] == ["wf-1", "wf-2"]


def test_ids_are_unique() -> None:
    assert len({new_workflow_id() for _ in range(100)}) == 100


def test_clients_of_one_user_share_their_workflows_and_those_of_others_do_not() -> None:
    histories = Histories()
    one, same, other = (histories.client(user, is_admin=False) for user in ("ann", "ann", "bob"))
    one.workflows.begin(WorkflowRecord("wf-1", "?"))
    assert [len(client.workflows.workflows()) for client in (one, same, other)] == [1, 1, 0]
