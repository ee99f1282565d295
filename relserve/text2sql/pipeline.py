"""The pipeline: questions become SQL in stages, each of which works on all of them at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import duckdb

from relserve.errors import Cancelled, ModelError, Text2SqlError, UsageError
from relserve.linking.schema import Schema
from relserve.session.session import Session
from relserve.text2sql.cases.case import QuestionCase, SqlCandidate, Trace
from relserve.text2sql.cases.database import Database
from relserve.text2sql.cases.failures import told
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.cases.workflow import Workflow
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.stages.candidates import candidates
from relserve.text2sql.stages.checking import execution, validation
from relserve.text2sql.stages.choice import choice
from relserve.text2sql.stages.evaluation import evaluation, unit_tests
from relserve.text2sql.stages.keywords import keywords
from relserve.text2sql.stages.retrieval import retrieval
from relserve.text2sql.stages.revision import revision
from relserve.text2sql.stages.schema_selection import schema_selection
from relserve.text2sql.writers import check_pointing, model_of, takes_grammar, writes_handles


class Stage(NamedTuple):
    """A step of the pipeline.

    Attributes:
        name: as traces and errors say it; stages that ask the model tag their relQuery with it.
        run: changes the cases that it is given, which have not failed.
    """

    name: str
    run: Callable[[Sequence[QuestionCase], Tools], None]


# After Figure 1 of HexGen-Text2SQL and CHESS: schema linking, candidates, self-correction, evaluation.
STAGES: tuple[Stage, ...] = (
    Stage("keywords", keywords),
    Stage("retrieval", retrieval),
    Stage("schema_selection", schema_selection),
    Stage("candidates", candidates),
    Stage("validation", validation),
    Stage("execution", execution),
    Stage("revision", revision),
    Stage("unit_tests", unit_tests),
    Stage("evaluation", evaluation),
    Stage("choice", choice),
)


_OF_THE_CALLER = (Cancelled, ModelError, UsageError)  # these are raised, being no failure of a stage


class QuestionOutcome(NamedTuple):
    """What became of a question.

    Attributes:
        sql: a query that answers it; None: there is none, and `failure` says why.
        candidates: all that were made, with what was found wrong.
        steps: what each stage did.
    """

    question: str
    sql: str | None
    candidates: tuple[SqlCandidate, ...]
    steps: tuple[Trace, ...]
    failure: Text2SqlError | None
    workflow_id: str


def run(
    questions: Sequence[str],
    database: Database,
    session: Session,
    options: Text2SqlOptions | None = None,
    *,
    evidence: Sequence[str | None] | None = None,
    stages: Sequence[Stage] = STAGES,
    cancel: threading.Event | None = None,
    statement: int | None = None,
) -> list[QuestionOutcome]:
    """Turn questions into SQL, all of them together: one relQuery a stage, whatever their number.

    Args:
        evidence: for each question what one must know to understand it; None: that of the options, for all.
        stages: what is done, in this order; see `replaced`.
        cancel: when set, what is asked is aborted in the engine.
        statement: number of the SQL statement that asks; None: a new one.

    Returns:
        One outcome a question, in order. A question that fails has an error that says at which stage and
        what was tried, and leaves the others alone.

    Raises:
        ModelError: the model is not to be had.
        UsageError: an option is wrong for this database or model.
        Cancelled: `cancel` was set.
    """
    options = in_time(options or Text2SqlOptions(), session)
    cases = _cases(questions, evidence, options)
    workflow = Workflow(session.history.workflows, options.model or "", cases, options.deadline_s)
    try:
        tools = _tools(session, database, options, workflow, statement, cancel or threading.Event())
        _begin(cases, tools)
        for stage in stages:
            _run_stage(stage, cases, tools)
        for case in cases:
            if case.chosen is None:
                case.fail("choice", "the stages ended without a choice")
    finally:
        workflow.end()
    return [_outcome(case, workflow.workflow_id) for case in cases]


def in_time(options: Text2SqlOptions, session: Session) -> Text2SqlOptions:
    """The options, with the session's deadline where they have none."""
    if options.deadline_s is not None or session.deadline_s is None:
        return options
    return replace(options, deadline_s=session.deadline_s)


def _cases(
    questions: Sequence[str], evidence: Sequence[str | None] | None, options: Text2SqlOptions
) -> list[QuestionCase]:
    notes = [options.evidence] * len(questions) if evidence is None else evidence
    return [QuestionCase(question, Schema(()), note) for question, note in zip(questions, notes, strict=True)]


def _tools(
    session: Session,
    database: Database,
    options: Text2SqlOptions,
    workflow: Workflow,
    statement: int | None,
    cancel: threading.Event,
) -> Tools:
    with workflow.beginning("model"):
        model = model_of(session, options)
        name = session.find_engine(model).model
    workflow.set_model(name)
    number = session.history.new_statement() if statement is None else statement
    return Tools(
        session, database, options, workflow, model, writes_handles(name), takes_grammar(name, options),
        number, cancel,
    )  # fmt: skip


def _begin(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Look at the questions and at the tables that they may be about, within the deadline as all else."""
    with tools.workflow.beginning("question"):
        if tools.points:
            check_pointing(tools.options, [case.evidence for case in cases])
        for case in cases:
            if not case.question.strip():
                case.fail("question", "the question is empty")
    with tools.workflow.beginning("schema"):
        try:
            schema = tools.database.schema()
        except duckdb.InterruptException as error:
            if tools.cancel.is_set():
                raise Cancelled("the questions were cancelled") from error
            raise
        for case in cases:
            case.schema = schema
    judge = tools.session.foreign_tables
    if judge is not None and tools.points and tools.options.model is None:
        judge.look_at_tables({each.name: [column.name for column in each.columns] for each in schema.tables})


def replaced(name: str, run: Callable[[Sequence[QuestionCase], Tools], None]) -> tuple[Stage, ...]:
    """The stages with another function in the place of one of them.

    Raises:
        UsageError: there is no stage of that name.
    """
    names = [stage.name for stage in STAGES]
    if name not in names:
        raise UsageError(f"text2sql has no stage {name!r}; there are: {', '.join(names)}")
    return tuple(Stage(name, run) if stage.name == name else stage for stage in STAGES)


def _run_stage(stage: Stage, cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Run a stage on the questions that have not failed; its own failure is one of all of them."""
    left = [case for case in cases if case.failure is None]
    if not left:
        return
    began_s = time.monotonic()
    try:
        if tools.workflow.is_late:
            _fail_all(left, stage, str(tools.workflow.late), tools.workflow.late)
        else:
            stage.run(left, tools)
    except BaseException as error:
        _fail_all(left, stage, told(error), error)
        if isinstance(error, duckdb.InterruptException) and tools.cancel.is_set():
            raise Cancelled("the questions were cancelled") from error
        if isinstance(error, _OF_THE_CALLER) or not isinstance(error, Exception):
            raise
    finally:
        for case in left:
            case.end_stage(stage.name, time.monotonic() - began_s)


def _fail_all(cases: Sequence[QuestionCase], stage: Stage, problem: str, cause: BaseException | None) -> None:
    for case in cases:
        case.fail(stage.name, problem, cause)


def _outcome(case: QuestionCase, workflow_id: str) -> QuestionOutcome:
    return QuestionOutcome(
        case.question, case.sql, tuple(case.candidates), tuple(case.trace), case.error, workflow_id
    )
