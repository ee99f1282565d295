"""What workflows asked: one record a question, one a stage. Feeds llm_workflows() and llm_steps()."""

from __future__ import annotations

import itertools
import math
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from relserve.call.relquery import Usage
from relserve.machine.engine_status import EngineStatus, read_engines, state_dir

MAX_WORKFLOWS, MAX_STEPS = 10_000, 100_000

_numbers = itertools.count(1)
_process = secrets.token_hex(3)


def new_workflow_id() -> str:
    """An id for a workflow, unique among all clients of a server."""
    return f"wf-{os.getpid()}-{_process}-{next(_numbers)}"


@dataclass
class WorkflowRecord:
    """One question of a workflow, from its beginning on.

    Questions that are asked together are one workflow: they have one id and share its steps, whose relQueries
    hold the rows of all of them.

    Attributes:
        number: the question's place among those of the workflow, 1 for the first.
        sql: the SQL that was found; None: not yet, or none.
        stages: the stages that it has been through, in their order.
        calls: prompts that were asked for it, kept answers included.
        usage: tokens of the workflow's prompts and replies; None where it has several questions, for they are
            counted by step alone.
        began_s: when it began, on the monotonic clock; `started` is what the wall clock said then.
        deadline_s: seconds that it was given; None: any time.
        met: whether it ended in that time, with SQL; None: no deadline, or under way.
        error: why there is no SQL.
    """

    workflow_id: str
    question: str
    number: int = 1
    model: str = ""
    sql: str | None = None
    stages: tuple[str, ...] = ()
    calls: int = 0
    usage: Usage | None = None
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    began_s: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    deadline_s: float | None = None
    met: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class StepRecord:
    """One relQuery of a workflow: the prompts of one stage for all of its questions.

    Attributes:
        rel_id: as in llm_queries().
        calls: distinct prompts, kept answers included.
        num_cached: of those, answered without the engine.
        seconds: from when it was asked until its last answer.
        error: what ended it.
    """

    workflow_id: str
    stage: str
    rel_id: str
    calls: int
    num_cached: int
    usage: Usage
    seconds: float | None
    error: str | None = None


WORKFLOW_SCHEMA = pa.schema(
    [
        ("workflow_id", pa.string()), ("number", pa.int64()), ("question", pa.string()),
        ("model", pa.string()), ("sql", pa.string()), ("stages", pa.list_(pa.string())),
        ("calls", pa.int64()), ("prompt_tokens", pa.int64()), ("cached_tokens", pa.int64()),
        ("output_tokens", pa.int64()), ("started", pa.timestamp("us", "UTC")), ("seconds", pa.float64()),
        ("deadline_s", pa.float64()), ("met", pa.bool_()), ("slack", pa.float64()),
        ("urgency", pa.float64()), ("error", pa.string()),
    ]
)  # fmt: skip

STEP_SCHEMA = pa.schema(
    [
        ("workflow_id", pa.string()), ("stage", pa.string()), ("rel_id", pa.string()),
        ("calls", pa.int64()), ("cached_answers", pa.int64()), ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()), ("output_tokens", pa.int64()), ("seconds", pa.float64()),
        ("error", pa.string()),
    ]
)  # fmt: skip


class Workflows:
    """The latest questions and steps of workflows, oldest dropped first; safe for several threads.

    Args:
        find_engines: tells what this machine's engines are doing.
    """

    def __init__(self, find_engines: Callable[[], Iterable[EngineStatus]] | None = None) -> None:
        self._find_engines = find_engines or _engines_here
        self._lock = threading.Lock()
        self._workflows: deque[WorkflowRecord] = deque(maxlen=MAX_WORKFLOWS)
        self._steps: deque[StepRecord] = deque(maxlen=MAX_STEPS)

    def begin(self, record: WorkflowRecord) -> None:
        """Put a question on record, as under way."""
        with self._lock:
            self._workflows.append(record)

    def add_step(self, record: StepRecord) -> None:
        """Put a relQuery that has ended on record."""
        with self._lock:
            self._steps.append(record)

    def workflows(self) -> list[WorkflowRecord]:
        """The questions on record, oldest first."""
        with self._lock:
            return list(self._workflows)

    def steps(self, workflow_id: str | None = None) -> list[StepRecord]:
        """The steps on record, oldest first; of one workflow, or of all."""
        with self._lock:
            return [each for each in self._steps if workflow_id in (None, each.workflow_id)]

    def workflows_table(self) -> pa.Table:
        """llm_workflows(): one row a question.

        `slack` is, of one that ended, what was left of its deadline; of one under way, how long it may still
        wait and be in time, as the engine foresees that has a step of it. `urgency` is that engine's. Both
        are NULL where nothing tells: without a deadline, between two steps, on a server elsewhere.
        """
        records, now_s = self.workflows(), time.time()
        is_needed = any(each.seconds is None and each.deadline_s is not None for each in records)
        standings = _standings(self._find_engines(), now_s) if is_needed else {}
        rows = [_workflow_row(each, standings.get(each.workflow_id)) for each in records]
        return pa.Table.from_pylist(rows, WORKFLOW_SCHEMA)

    def steps_table(self) -> pa.Table:
        """llm_steps(): one row a relQuery of a workflow."""
        return pa.Table.from_pylist([_step_row(each) for each in self.steps()], STEP_SCHEMA)


def _engines_here() -> list[EngineStatus]:
    return read_engines(state_dir())


def _standings(engines: Iterable[EngineStatus], now_s: float) -> dict[str, tuple[float, float]]:
    """Slack and urgency now of each workflow that an engine has a step of: of its most urgent step."""
    found: dict[str, tuple[float, float]] = {}
    for engine in engines:
        passed_s = max(now_s - engine.written_s, 0.0)
        for rel in engine.rels:
            if rel.workflow is None or rel.slack_s is None or rel.urgency_s is None:
                continue
            slack, urgency = found.get(rel.workflow, (math.inf, -math.inf))
            own = rel.slack_s - passed_s, rel.urgency_s + passed_s
            found[rel.workflow] = min(slack, own[0]), max(urgency, own[1])
    return found


def _workflow_row(record: WorkflowRecord, standing: tuple[float, float] | None) -> dict[str, Any]:
    slack = urgency = None
    met = record.met
    if record.deadline_s is not None and record.seconds is not None:
        slack = record.deadline_s - record.seconds
    elif record.deadline_s is not None:
        slack, urgency = (None, None) if standing is None else standing
        if time.monotonic() - record.began_s > record.deadline_s:
            met = False
    return dict(
        workflow_id=record.workflow_id, number=record.number, question=record.question, model=record.model,
        sql=record.sql, stages=list(record.stages), calls=record.calls, **_tokens(record.usage),
        started=record.started, seconds=record.seconds, deadline_s=record.deadline_s, met=met,
        slack=slack, urgency=urgency,
        error=record.error,
    )  # fmt: skip


def _step_row(record: StepRecord) -> dict[str, Any]:
    return dict(
        workflow_id=record.workflow_id, stage=record.stage, rel_id=record.rel_id, calls=record.calls,
        cached_answers=record.num_cached, **_tokens(record.usage), seconds=record.seconds, error=record.error,
    )  # fmt: skip


def _tokens(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    return dict(
        prompt_tokens=usage.prompt_tokens, cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
    )  # fmt: skip
