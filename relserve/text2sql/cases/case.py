"""The state of one question on its way through the pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from relserve.errors import Text2SqlError, UnlinkedWordsError
from relserve.linking.schema import Schema
from relserve.linking.values import ValueHit
from relserve.text2sql.cases.llm_reading import LlmReading
from relserve.text2sql.cases.results import ResultSet


class ProblemKind(StrEnum):
    """Why a candidate is not good as it is."""

    REFUSED = "refused"  # DuckDB cannot bind it, or it is no SELECT that may run
    FAILED = "failed"  # it ran into an error or a limit
    EMPTY = "empty"  # it ran, and gave no row


class Problem(NamedTuple):
    """What is wrong with a candidate."""

    kind: ProblemKind
    message: str


@dataclass
class SqlCandidate:
    """One SQL text for a question.

    Attributes:
        method: the name of the prompt that made it.
        problem: what is wrong with it, as far as was looked; an empty result that was looked into is none.
        is_bound: whether DuckDB has bound it.
        result: what it gave, where it was run.
        former: the SQL texts before revisions, each with what was wrong.
        asked_if_empty: whether the model was asked about its empty result, which is done once.
        num_passed: unit tests that it passes.
        votes: candidates that say the same, itself included.
    """

    sql: str
    method: str
    problem: Problem | None = None
    is_bound: bool = False
    result: ResultSet | None = None
    former: list[tuple[str, Problem]] = field(default_factory=list)
    asked_if_empty: bool = False
    num_passed: int = 0
    votes: int = 1

    def revise(self, sql: str, problem: Problem) -> None:
        """Another SQL text takes the place of this one, which had a problem; nothing is known of it yet."""
        self.former.append((self.sql, problem))
        self.sql, self.problem, self.is_bound, self.result = sql, None, False, None


class Failing(NamedTuple):
    """Why a question got no SQL."""

    stage: str
    problem: str
    cause: BaseException | None


class UnlinkedWords(Exception):
    """What a question speaks of that its tables do not know.

    Attributes:
        words: of the question.
        proposal: a SELECT with llm calls that may answer it; None: there is none.
    """

    def __init__(self, words: tuple[str, ...], proposal: str | None) -> None:
        self.words, self.proposal = words, proposal
        super().__init__(f"linked to nothing: {', '.join(words)}")


class Trace(NamedTuple):
    """What one stage did for a question.

    Attributes:
        calls: prompts of it that were asked for the question.
        notes: what it found, a line each.
    """

    stage: str
    calls: int
    seconds: float
    notes: tuple[str, ...]


@dataclass
class QuestionCase:
    """One question, and all that is known of it so far.

    Attributes:
        evidence: what one must know to understand it, in the asker's words.
        schema: the tables and columns that it may be about: first all, then those chosen.
        keywords, values, examples: of the question; values as the database spells them, examples as pairs of
            a question and its SQL.
        tests: statements that a right answer makes true.
        unlinked: words of the question that no table, column or value and no operation has to do with.
        reading: how llm calls could answer a question with unlinked words; None: there are none, or no way.
        left_out: values and columns of the question that answers of a model did not use, each with what to
            know of it.
        notes: of the stage under way.
        num_calls, num_stage_calls: prompts asked for this question in all, and in the stage under way.
    """

    question: str
    schema: Schema
    evidence: str | None = None
    keywords: tuple[str, ...] = ()
    values: tuple[ValueHit, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    candidates: list[SqlCandidate] = field(default_factory=list)
    tests: tuple[str, ...] = ()
    unlinked: tuple[str, ...] = ()
    reading: LlmReading | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    chosen: SqlCandidate | None = None
    failure: Failing | None = None
    trace: list[Trace] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    num_calls: int = 0
    num_stage_calls: int = 0

    @property
    def best(self) -> SqlCandidate | None:
        """The candidate nearest to being right: chosen, or with the least problem and the most votes."""
        if self.chosen is not None:
            return self.chosen
        return min(self.candidates, key=_distance, default=None)

    @property
    def sql(self) -> str | None:
        """The SQL that was chosen; None: none was, or the question failed."""
        return None if self.chosen is None or self.failure is not None else self.chosen.sql

    def note(self, line: str) -> None:
        """Say what the stage under way found."""
        self.notes.append(line)

    def fail(self, stage: str, problem: str, cause: BaseException | None = None) -> None:
        """There will be no SQL; the first failure stands."""
        if self.failure is None:
            self.failure = Failing(stage, problem, cause)

    def fail_late(self, stage: str, late: TimeoutError) -> None:
        """There will be no SQL, for its deadline has passed."""
        self.fail(stage, str(late), late)

    @property
    def error(self) -> Text2SqlError | None:
        """The failure as an error, with what was tried and the best candidate."""
        if self.failure is None:
            return None
        stage, problem, cause = self.failure
        tried = tuple(dict.fromkeys(f"{one.stage}: {line}" for one in self.trace for line in one.notes))
        best = self.best
        error = (
            UnlinkedWordsError(problem, stage, tried, cause.words, cause.proposal)
            if isinstance(cause, UnlinkedWords)
            else Text2SqlError(problem, stage, tried, None if best is None else best.sql)
        )
        error.__cause__ = cause
        return error

    def end_stage(self, stage: str, seconds: float) -> None:
        """Put on the trace what a stage did."""
        self.trace.append(Trace(stage, self.num_stage_calls, seconds, tuple(self.notes)))
        self.num_calls += self.num_stage_calls
        self.num_stage_calls, self.notes = 0, []


_ORDER = (None, ProblemKind.EMPTY, ProblemKind.FAILED, ProblemKind.REFUSED)


def _distance(candidate: SqlCandidate) -> tuple[int, bool, int]:
    kind = None if candidate.problem is None else candidate.problem.kind
    return _ORDER.index(kind), not candidate.is_bound, -candidate.votes
