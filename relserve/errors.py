"""Every error that relserve raises, one tree.

    RelserveError
    ├── UsageError           the call is wrong; the message says what, where and how to mend it
    │   ├── TemplateError    the template, shown with a caret under the place
    │   ├── OptionError      an option: unknown, of the wrong type, or out of range
    │   ├── UnsafeSqlError   generated SQL is more than a SELECT over allowed tables
    │   └── ComplexSqlError  a statement is nested deeper than a server lets DuckDB's parser read
    ├── ModelError           a model name that leads to no model
    ├── EngineError          the engine could not do its work
    │   ├── EngineStartError it did not come up
    │   └── EngineDeadError  it died, and a restart did not help
    ├── LimitError           generated SQL took more time, memory, disk or rows than it may
    ├── RowError             a row failed and on_error := 'raise' was given
    ├── Text2SqlError        a question became no SQL; says which stage failed and what was tried
    │   └── UnlinkedWordsError  it speaks of what no table, column or value says
    ├── ForbiddenError       a server's user may not do this; or only the database names this model
    ├── SpendingError        a statement would take more rows, tokens or dollars than a cap allows
    ├── QuotaError           a server's user has used up their tokens of a minute, an hour or a day
    ├── AdmissionError       an engine's gate let a request wait until its limit was over, or it would be
    ├── ProtocolError        a client of `relserve serve` sent what the protocol or the server does not allow
    └── Cancelled            the query was interrupted

A row that fails under `on_error := 'null'` raises nothing: it becomes NULL and a `Failure` on record,
and the statement ends with a RowsFailedWarning.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class RelserveError(Exception):
    """Root of the tree."""


class UsageError(RelserveError, ValueError):
    """The call is wrong."""


class TemplateError(UsageError):
    """A template is wrong at `position` (characters from its start).

    The message shows the line of the template and a caret under the place; neither where the template is "",
    since what was given may be somebody's text.
    """

    def __init__(self, problem: str, template: str, position: int, hint: str = "") -> None:
        self.problem, self.template, self.position, self.hint = problem, template, position, hint
        shown = [_caret(template, position)] if template else []
        super().__init__("\n".join([problem, *shown, *([hint] if hint else [])]))


class OptionError(UsageError):
    """An option is unknown, of the wrong type, or out of range."""


class UnsafeSqlError(UsageError):
    """Generated SQL is more than one SELECT over allowed tables; nothing of it ran."""


class ComplexSqlError(UsageError):
    """A statement is nested so deep that DuckDB's parser could work on it for minutes; nothing of it ran."""


class ModelError(RelserveError):
    """A model name leads to no model."""


class EngineError(RelserveError):
    """The engine could not do its work."""


class EngineStartError(EngineError):
    """The engine did not come up."""


class EngineDeadError(EngineError):
    """The engine died and a restart did not help."""


class LimitError(RelserveError):
    """Generated SQL was ended at a limit, which `limit` names; the message says how to raise it."""

    def __init__(self, message: str, limit: str) -> None:
        self.limit = limit
        super().__init__(message)


class RowError(RelserveError):
    """A row failed and `on_error := 'raise'` was given."""


class Text2SqlError(RelserveError):
    """A question became no SQL.

    Attributes:
        stage: the stage of the pipeline that failed.
        tried: what was done until then, a line each.
        candidate: the best SQL so far, which was not found to be right; None: there is none.
    """

    def __init__(
        self, problem: str, stage: str, tried: tuple[str, ...] = (), candidate: str | None = None
    ) -> None:
        self.problem, self.stage, self.tried, self.candidate = problem, stage, tried, candidate
        parts = [f"text2sql, stage {stage}: {problem}"]
        if tried:
            parts.append("Tried: " + "; ".join(tried) + ".")
        if candidate is not None:
            parts.append(f"The best candidate so far: {candidate}")
        super().__init__("\n".join(parts))

    def retold(self, problem: str) -> Text2SqlError:
        """The same failure, with the same cause, in other words."""
        told = self._with_problem(problem)
        told.__cause__ = self.__cause__
        return told

    def _with_problem(self, problem: str) -> Text2SqlError:
        return Text2SqlError(problem, self.stage, self.tried, self.candidate)


class UnlinkedWordsError(Text2SqlError):
    """A question speaks of what no table, column or value says, and a model that points would leave it out.

    Attributes:
        words: of the question, that are linked to nothing.
        proposal: a SELECT with llm calls, which asks a model what the words mean; None: there is none.
    """

    def __init__(
        self,
        problem: str,
        stage: str,
        tried: tuple[str, ...] = (),
        words: tuple[str, ...] = (),
        proposal: str | None = None,
    ) -> None:
        self.words, self.proposal = words, proposal
        super().__init__(problem, stage, tried)

    def _with_problem(self, problem: str) -> Text2SqlError:
        return UnlinkedWordsError(problem, self.stage, self.tried, self.words, self.proposal)


class ForbiddenError(RelserveError):
    """This may not be done, by a user of a server or by a view; says who may, or what may be done instead."""


class SpendingError(RelserveError):
    """A statement would likely take more rows, tokens or dollars than a cap allows; nothing was asked."""


class QuotaError(RelserveError):
    """A user of a server has used up their tokens or calls; more may be asked in `wait_s` seconds."""

    def __init__(self, message: str, wait_s: float) -> None:
        self.wait_s = wait_s
        super().__init__(message)


class AdmissionError(RelserveError):
    """A request was not admitted in time.

    Attributes:
        estimate_s: seconds that it would take now; None: not known.
        is_over: whether its limit had passed before it came to the gate, so that waiting is not why.
    """

    def __init__(self, message: str, estimate_s: float | None = None, is_over: bool = False) -> None:
        self.estimate_s, self.is_over = estimate_s, is_over
        super().__init__(message)


class ProtocolError(RelserveError):
    """A client of `relserve serve` sent what the protocol, or the state of its session, does not allow.

    `sqlstate` is PostgreSQL's five-letter code for it; 08P01 is a protocol violation. `routine` is the one of
    PostgreSQL's that says the same, where drivers look for it.
    """

    def __init__(
        self, message: str, sqlstate: str = "08P01", hint: str = "", routine: str | None = None
    ) -> None:
        self.sqlstate, self.hint, self.routine = sqlstate, hint, routine
        super().__init__(message)


class Cancelled(RelserveError):
    """The query was interrupted; its requests were aborted in the engine."""


class RelserveWarning(UserWarning):
    """Every warning of relserve."""


class ConstantPromptWarning(RelserveWarning):
    """A call has no column: it is asked once, and every row gets the same answer."""


class RowsFailedWarning(RelserveWarning):
    """Rows of a statement failed and are NULL, under `on_error := 'null'`; issued once, at its end."""


class HabitWarning(RelserveWarning):
    """Answers look like a model's habit: one for nearly all prompts, texts that loop; issued once a call."""


class FailureKind(StrEnum):
    """Why a row has no answer."""

    OVER_CONTEXT = "over_context"  # the prompt does not fit the model's context
    UNPARSABLE = "unparsable"  # the reply is not a value of the answer's type
    REFUSED = "refused"  # the engine rejected this request
    LOW_CONFIDENCE = "low_confidence"  # the model gave its answer a probability below min_confidence
    DEADLINE = "deadline"  # the answer, or the SQL, had not come when its deadline passed
    CAP = "cap"  # a cap on rows, tokens or dollars was reached before the row was sent
    IN_BATCH = "in_batch"  # it was sent in a batch, which has not ended
    NO_SQL = "no_sql"  # a question of text2sql_query() became no SQL
    ENGINE = "engine"  # the engine failed while it worked on the request


class Failure(NamedTuple):
    """Why one row is NULL."""

    kind: FailureKind
    message: str


def _caret(text: str, position: int, width: int = 72) -> str:
    """The line of `text` that holds `position`, cut to `width` characters, with a caret below."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    column = position - start
    left = max(0, column - width // 2)
    head = "..." if left else ""
    shown = head + line[left : left + width] + ("..." if left + width < len(line) else "")
    return f"  {shown}\n  {' ' * (column - left + len(head))}^"
