"""Asks text2sql() and judges what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks.text2sql.questions import GoldQuestion, Group
from relserve.errors import LimitError, UnsafeSqlError
from relserve.session.session import Session
from relserve.text2sql.duckdb_database import DuckDBDatabase
from relserve.text2sql.guard.connection import GuardedConnection
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import QuestionOutcome, run
from relserve.text2sql.retrieval.library import ValueLibrary
from relserve.text2sql.writers import reads_question_alone
from training.tiny_sql.evaluate import is_right as gives

NOT_THERE = ("does not exist", "not found in FROM clause", "Referenced table", "does not have a column")


class AnswerVerdict(NamedTuple):
    """How a question went.

    Attributes:
        refused: there was no answer; `why` says so.
        agreed: all candidates said the same.
        num_sql: SQL texts that were made for it; of those, how many do not parse or name what is not there.
    """

    shape: str
    question: str
    sql: str | None
    right: bool
    agreed: bool
    why: str
    num_sql: int
    num_unparsed: int
    num_invented: int
    calls: int

    @property
    def refused(self) -> bool:
        """Whether no SQL was given."""
        return self.sql is None


class GroupVerdicts(NamedTuple):
    """The verdicts of a group, and the tokens that its stages took."""

    verdicts: list[AnswerVerdict]
    prompt_tokens: int
    output_tokens: int


def ask(group: Group, session: Session, options: Text2SqlOptions, folder: Path) -> GroupVerdicts:
    """Ask a group's questions, as text2sql() does, and judge them.

    Args:
        folder: for indexes of values.
    """
    con = group.databases[0]
    chosen = options if group.tables is None else replace(options, tables=group.tables)
    database = DuckDBDatabase(con.cursor(), chosen, library=ValueLibrary(folder))
    texts = [question.text for question in group.questions]
    evidence = [question.evidence for question in group.questions]
    points = chosen.model is not None and reads_question_alone(chosen.model)
    outcomes = run(texts, database, session, chosen, evidence=None if points else evidence)
    steps = session.history.workflows.steps(outcomes[0].workflow_id)
    pairs = zip(group.questions, outcomes, strict=True)
    return GroupVerdicts(
        [_verdict(question, outcome, group) for question, outcome in pairs],
        sum(step.usage.prompt_tokens for step in steps),
        sum(step.usage.output_tokens for step in steps),
    )


def _verdict(question: GoldQuestion, outcome: QuestionOutcome, group: Group) -> AnswerVerdict:
    made = [sql for each in outcome.candidates for sql in (each.sql, *(former for former, _ in each.former))]
    complaints = [_complaint(sql, group.databases[0]) for sql in made]
    chosen = [each for each in outcome.candidates if each.sql == outcome.sql]
    return AnswerVerdict(
        question.shape,
        question.text,
        outcome.sql,
        is_right(outcome.sql, question.gold, group),
        bool(chosen) and max(each.votes for each in chosen) == len(outcome.candidates),
        "" if outcome.failure is None else str(outcome.failure).partition("\n")[0],
        len(made),
        complaints.count("unparsed"),
        complaints.count("invented"),
        sum(step.calls for step in outcome.steps),
    )


def is_right(sql: str | None, gold: Sequence[str], group: Group) -> bool:
    """Whether a query gives on every database what one of the gold queries gives there."""
    return sql is not None and any(gives(sql, each, group.databases, _guarded_rows) for each in gold)


def _complaint(sql: str, con: duckdb.DuckDBPyConnection) -> str:
    """Whether DuckDB cannot parse a query, or knows a name in it not."""
    try:
        con.execute(f"EXPLAIN {sql}")
    except duckdb.ParserException:
        return "unparsed"
    except duckdb.Error as error:
        return "invented" if any(words in str(error) for words in NOT_THERE) else "other"
    return ""


def _guarded_rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]] | None:
    """The rows of a query that a model wrote, within limits; None: it fails."""
    try:
        found = GuardedConnection(con.cursor()).rows(sql)
    except (duckdb.Error, LimitError, UnsafeSqlError):
        return None
    columns = [column.to_pylist() for column in found.columns]
    return list(zip(*columns, strict=True))
