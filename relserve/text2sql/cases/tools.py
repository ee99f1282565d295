"""What every stage works with: the model, the database, the options, the workflow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relserve.call.answer_types import Answer, Grammar
from relserve.call.options import Options
from relserve.call.relquery import CallSite
from relserve.call.template import Template
from relserve.errors import Cancelled, FailureKind, LimitError
from relserve.session.in_rounds import RelQueryInRounds
from relserve.session.session import Session
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.database import Allowance, Database
from relserve.text2sql.cases.failures import alone
from relserve.text2sql.cases.results import ShownRows
from relserve.text2sql.cases.workflow import Workflow
from relserve.text2sql.options import Text2SqlOptions

NUM_SHUFFLES, LEAST_SHUFFLES = 5, 3  # with fewer there is no disagreement to see


class StagePrompt(NamedTuple):
    """One prompt.

    Attributes:
        case: the question that it is for.
        values: what its template's placeholders stand for.
        grammar: what the reply must match; None: free text.
    """

    case: QuestionCase
    values: Mapping[str, str]
    grammar: Grammar | None = None


@dataclass
class Tools:
    """Given to every stage of one run of the pipeline.

    Attributes:
        model: who is asked; None: the session's default.
        points: whether the model answers with handles of columns, tables and values, not with SQL.
        constrains: whether the SQL of replies is held to a grammar of names that exist.
        statement: number of the SQL statement that asks.
        cancel: when set, what is asked is aborted in the engine.
    """

    session: Session
    database: Database
    options: Text2SqlOptions
    workflow: Workflow
    model: str | None
    points: bool
    constrains: bool
    statement: int
    cancel: threading.Event

    @property
    def num_candidates(self) -> int:
        """How many SQL texts are made for a question; shuffles of handles for a model that points."""
        default = NUM_SHUFFLES if self.points else self.options.work.num_candidates
        wanted = default if self.options.candidates is None else self.options.candidates
        return max(wanted, LEAST_SHUFFLES) if self.points else wanted

    def each(self, stage: str, cases: Sequence[QuestionCase], work: Callable[[QuestionCase], None]) -> None:
        """Do some work for each question by itself: one that fails, or comes too late, leaves the others.

        Raises:
            Cancelled: `cancel` was set.
        """
        for case in cases:
            self._check_cancel()
            if self.workflow.is_late:
                case.fail_late(stage, self.workflow.late)
            if case.failure is None:
                with alone(case, stage):
                    work(case)

    def explain(self, sql: str) -> Sequence[tuple[str, str]]:
        """Bind a candidate in the time that is left; see `Database.explain`."""
        return self.database.explain(sql, self._allowance())

    def rows(self, sql: str) -> ShownRows:
        """Run a candidate in the time that is left; see `Database.rows`."""
        return self.database.rows(sql, self._allowance())

    def _allowance(self) -> Allowance:
        self._check_cancel()
        if self.workflow.is_late:
            raise LimitError(str(self.workflow.late), "seconds")
        return Allowance(self.workflow.seconds_left, self.cancel)

    def _check_cancel(self) -> None:
        if self.cancel.is_set():
            raise Cancelled("the questions were cancelled")

    def ask(
        self,
        stage: str,
        template: Template,
        asks: Sequence[StagePrompt],
        max_tokens: int,
        is_whole: Callable[[str], bool] | None = None,
    ) -> list[Answer]:
        """Have the model answer prompts, all as one relQuery.

        A question whose prompt is not answered at the workflow's deadline fails.

        Args:
            stage: as the scheduler and the records know it.
            max_tokens: of one reply.
            is_whole: whether a reply that max_tokens ended says all that is wanted; None: any does.

        Returns:
            The replies in order; a prompt that failed alone, e.g. being over the model's context, has a
            failure and no text.

        Raises:
            EngineError, ModelError, Cancelled: see `OpenRelQuery.ask`.
        """
        if not asks:
            return []
        options = Options(model=self.model, max_tokens=max_tokens, seed=self.options.seed)
        site = CallSite("llm", template.bind(template.num_inputs), options)
        for each in asks:
            each.case.num_stage_calls += 1
        opened = self.session.open(
            site, self.cancel, self.statement, remembers=False,
            step=self.workflow.step(stage), is_whole=is_whole,
        )  # fmt: skip
        try:
            with opened:
                answers = _answers(opened, template, asks)
        finally:
            self.workflow.add_step(stage, opened.record)
        for each, answer in zip(asks, answers, strict=True):
            if answer.failure is not None and answer.failure.kind is FailureKind.DEADLINE:
                each.case.fail_late(stage, self.workflow.late)
        return answers


def _answers(opened: RelQueryInRounds, template: Template, asks: Sequence[StagePrompt]) -> list[Answer]:
    rows = [[each.values[name] for name in template.names] for each in asks]
    grammars = [each.grammar for each in asks]
    return opened.ask(rows, grammars=grammars if any(grammars) else None)
