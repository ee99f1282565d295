"""The identity, the deadline and the records of questions that are answered together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import Usage
from relserve.session.history import QueryRecord
from relserve.session.workflows import StepRecord, WorkflowRecord, Workflows, new_workflow_id
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.failures import told


class Workflow:
    """One run of the pipeline.

    Its questions share one id, for they share the relQueries that a scheduler sees; each has its own record.

    Args:
        history: where questions and steps are put on record.
        deadline_s: seconds from now; None: any time.
    """

    def __init__(
        self, history: Workflows, model: str, cases: Sequence[QuestionCase], deadline_s: float | None
    ) -> None:
        self.workflow_id, self.deadline_s = new_workflow_id(), deadline_s
        self._history, self._cases = history, cases
        self._began_s = time.monotonic()
        self._ends_s = None if deadline_s is None else self._began_s + deadline_s
        self._usage = Usage()
        self._records = [
            WorkflowRecord(self.workflow_id, case.question, number, model, deadline_s=deadline_s)
            for number, case in enumerate(cases, start=1)
        ]
        for record in self._records:
            history.begin(record)

    def set_model(self, model: str) -> None:
        """Put on record who is asked."""
        for record in self._records:
            record.model = model

    @contextmanager
    def beginning(self, stage: str) -> Iterator[None]:
        """What goes wrong inside is on record as every question's failure, and is raised.

        Args:
            stage: of what is done before the first stage.
        """
        began_s = time.monotonic()
        try:
            yield
        except BaseException as error:
            for case in self._cases:
                case.fail(stage, told(error), error)
                case.end_stage(stage, time.monotonic() - began_s)
            raise

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self._ends_s is not None and time.monotonic() >= self._ends_s

    @property
    def seconds_left(self) -> float | None:
        """Until the deadline; None: any time."""
        return None if self._ends_s is None else self._ends_s - time.monotonic()

    @property
    def late(self) -> TimeoutError:
        """That the deadline has passed."""
        return TimeoutError(f"the deadline of {self.deadline_s:g} seconds passed")

    def step(self, stage: str) -> WorkflowStep:
        """The place of a stage's relQuery in the workflow."""
        return WorkflowStep(self.workflow_id, stage, self._ends_s)

    def add_step(self, stage: str, record: QueryRecord) -> None:
        """Put a relQuery that has ended on record."""
        self._usage = Usage.total((self._usage, record.usage))
        self._history.add_step(
            StepRecord(
                self.workflow_id, stage, record.rel_id, record.num_distinct, record.num_cached, record.usage,
                record.seconds, record.error,
            )
        )  # fmt: skip

    def end(self) -> None:
        """Say on record what became of each question that has not ended before."""
        seconds = time.monotonic() - self._began_s
        for record, case in zip(self._records, self._cases, strict=True):
            record.stages = tuple(one.stage for one in case.trace)
            record.calls, record.seconds = case.num_calls, seconds
            record.usage = self._usage if len(self._cases) == 1 else None
            record.sql = case.sql
            record.error = None if (error := case.error) is None else str(error)
            if self.deadline_s is not None:
                record.met = record.sql is not None and seconds < self.deadline_s
