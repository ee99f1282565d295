"""Workflows with deadlines on a real engine: what arrives, and how runs are judged."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks.deadlines.outcomes import DeadlineOutcome, deadline_95, mean_outcome, outcome
from benchmarks.deadlines.workflows import (
    TRACES,
    DeadlineStepSpec,
    StepLengths,
    arriving,
    levels_of,
    queries,
    workflows,
)
from benchmarks.text2sql_deadlines import STOCK, WAYS, evaluate
from lab.simulator.workload import RelSpec, RowSpec
from tests.benchmarks.authors_traces import with_traces

CANDIDATE = "generate_candidate_llama-agent"


def test_neighbours_of_a_stage_that_fans_out_are_one_level() -> None:
    names = ["revise", "revise", CANDIDATE, CANDIDATE, "unit_tester", "evaluate", "evaluate", "evaluate"]
    levels = levels_of([StepLengths(name, 10, 1) for name in names])
    assert [(level[0].stage, len(level)) for level in levels] == [
        ("revise", 1), ("revise", 1), (CANDIDATE, 2), ("unit_tester", 1), ("evaluate", 3)
    ]  # fmt: skip


@with_traces
def test_workflows_are_the_traces_steps_in_a_chain() -> None:
    steps = workflows(8, 3, 1 / 24, 256)
    assert steps == workflows(8, 3, 1 / 24, 256)
    assert steps != workflows(8, 4, 1 / 24, 256)
    flows = {step.workflow_id: [s for s in steps if s.workflow_id == step.workflow_id] for step in steps}
    assert len(flows) == 8
    known = {tuple(step.stage for step in query) for name in TRACES for query in queries(name)}
    for flow in flows.values():
        assert flow[0].before == ""
        assert all(b.before == a.rel_id for a, b in pairwise(flow))
        assert tuple(step.stage for step in flow for _ in step.rows) in known
        assert all(row.output_tokens <= 256 for step in flow for row in step.rows)


def test_times_and_deadlines_are_those_of_the_workflow() -> None:
    rows = (RowSpec((1,), 1),)
    steps = [DeadlineStepSpec(f"{w}{i}", 0.0, rows, 9, workflow_id=w) for w in "ab" for i in range(2)]
    found = arriving(steps, [1.0, 2.0], [5.0, None])
    assert [(step.arrival_s, step.slo_s) for step in found] == [(1, 5), (1, 5), (2, None), (2, None)]


@pytest.mark.parametrize(("count", "place"), [(60, 57), (20, 19), (10, 10), (1, 1), (100, 95)])
def test_the_deadline_that_95_percent_meet_is_one_of_the_times(count: int, place: int) -> None:
    assert deadline_95([float(i) for i in range(count, 0, -1)]) == place


def test_a_run_is_judged_by_last_steps_and_by_plain_relqueries_apart() -> None:
    rows = (RowSpec((1,), 1),)
    steps = [
        DeadlineStepSpec("a0", 0.0, rows, 9, workflow_id="a", slo_s=3.0),
        DeadlineStepSpec("a1", 0.0, rows, 9, workflow_id="a", before="a0", slo_s=3.0),
        DeadlineStepSpec("b0", 1.0, rows, 9, workflow_id="b", slo_s=3.0),
    ]
    plain = RelSpec("p", 0.0, rows, 9)
    found = outcome(steps, {"a0": 1.0, "a1": 4.0, "b0": 2.0, plain.rel_id: 0.5})
    assert found == DeadlineOutcome(4.0, 3.0, 4.0, 0.5, 0.5, 0.5)
    assert mean_outcome([found, found]) == found


def test_the_headline_is_of_the_means_and_of_the_worst_run() -> None:
    def run(deadline_s: float, plain_s: float) -> DeadlineOutcome:
        return DeadlineOutcome(deadline_s, 1.0, 1.0, 1.0, plain_s, 1.0)

    runs = {1.1: {way: [run(1.0, 1.0), run(3.0, 1.0)] for way in WAYS}}
    runs[1.1][STOCK] = [run(2.0, 1.0), run(4.0, 3.0)]
    found = evaluate(runs)
    assert found["deadline_95_ratio"] == {"1.1": 1.5}
    assert found["relqueries_over_stock"] == {"1.1": 0.5}
    assert found["deadline_95_ratio_worst"] == 1.333
