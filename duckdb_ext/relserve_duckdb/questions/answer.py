"""What `Connection.text2sql` gives: the SQL of a question, how it was found, and its rows on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from relserve.text2sql.guard.limits import limited
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.text.question_options import options_of

if TYPE_CHECKING:  # the pipeline is imported by the first question
    from relserve.text2sql.cases.case import SqlCandidate, Trace
    from relserve.text2sql.pipeline import QuestionOutcome


class Text2SqlAnswer:
    """The answer to a question; its rows are read anew by each method that gives them.

    Attributes:
        question, sql: what was asked, and the query that answers it.
        candidates: all queries that were made, with what was found wrong with them.
        trace: what each stage did, in order: its name, calls, seconds and notes.
        workflow_id: of its row in llm_workflows().
    """

    def __init__(
        self, outcome: QuestionOutcome, options: Mapping[str, Any], run: Callable[[str], Any]
    ) -> None:
        self.question: str = outcome.question
        self.sql: str = outcome.sql or ""
        self.candidates: tuple[SqlCandidate, ...] = outcome.candidates
        self.trace: list[Trace] = list(outcome.steps)
        self.workflow_id: str = outcome.workflow_id
        self._limits, self._run = options_of(TEXT2SQL, options).held_to, run

    def relation(self) -> Any:
        """The query as a relation of the connection that asked, not yet run; within the question's limits."""
        return self._run(limited(self.sql, self._limits))

    def df(self) -> Any:
        """The rows as a pandas DataFrame."""
        return self.relation().df()

    def pl(self) -> Any:
        """The rows as a polars DataFrame."""
        return self.relation().pl()

    def arrow(self) -> Any:
        """The rows as a pyarrow Table."""
        return self.relation().to_arrow_table()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples."""
        return list(self.relation().fetchall())

    def __repr__(self) -> str:
        return f"-- {' '.join(self.question.split())}\n{self.sql}\n\n{self.relation()}"

    def _repr_html_(self) -> str:
        """The question, its SQL and the first rows, for notebooks."""
        sql, rows = escape(self.sql), escape(str(self.relation()))
        return f"<p>{escape(self.question)}</p><pre>{sql}</pre><pre>{rows}</pre>"
