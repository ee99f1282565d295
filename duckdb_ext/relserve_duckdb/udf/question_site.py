"""text2sql_query(): what DuckDB hands to its UDF, read; and the questions of a statement, asked together."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from relserve.call.option_specs import OPTIONS
from relserve.call.template import BoundTemplate, Template
from relserve.call.values import constant_of, values_of
from relserve.errors import OptionError, UsageError
from relserve.text2sql.options import Text2SqlOptions
from relserve_duckdb.text.call_limits import TEXT2SQL_QUERY, varying_option
from relserve_duckdb.text.question_options import options_of

ON_ERROR = "on_error"


@dataclass(frozen=True)
class QuestionSite:
    """A text2sql_query() call without its rows; each row holds a question and its evidence."""

    options: Text2SqlOptions
    on_error: str = "null"
    function: ClassVar[str] = TEXT2SQL_QUERY
    binding: ClassVar[BoundTemplate] = Template.parse("{}").bind(1)


class AskedQuestions(NamedTuple):
    """Distinct questions of one call.

    Attributes:
        evidence: for each what one must know to understand it, None for that of the options.
        multiplicity: how many rows each stands for.
        num_null: rows without a question.
    """

    site: QuestionSite
    texts: Sequence[str]
    evidence: Sequence[str | None]
    multiplicity: Sequence[int]
    num_null: int


class Answers(Protocol):
    """Has questions answered on behalf of a connection."""

    def queries(
        self, asked: AskedQuestions, cancel: threading.Event, statement: int, runs: bool
    ) -> list[str | None]:
        """The SQL of each question; None where there is none, which is on record.

        Args:
            statement: number of the SQL statement that asks.
            runs: the connection runs it now, so that questions look at the database from another one.
        """


def read_questions(columns: Sequence[Any]) -> tuple[QuestionSite, list[list[Any]], list[str | None]]:
    """Read the columns of a UDF call: question, options as JSON, evidence.

    Returns:
        The site, questions and evidence, and what tells rows apart: None for a row without a question.

    Raises:
        OptionError: an option is unknown, of the wrong type, or out of range, or changes from row to row.
        UsageError: a question is no text.
    """
    same, options = constant_of(columns[1])
    if not same:
        raise OptionError(varying_option(TEXT2SQL_QUERY))
    questions, evidence = values_of(columns[0]), values_of(columns[2])
    keys = [_key(*row) for row in zip(questions, evidence, strict=True)]
    return question_site(json.loads(options)), [questions, evidence], keys


def question_site(given: dict[str, Any]) -> QuestionSite:
    """The site of a call with these options; raises as `read_questions` does."""
    named = {name: value for name, value in given.items() if value is not None}
    on_error = OPTIONS[ON_ERROR].check(ON_ERROR, named.pop(ON_ERROR, "null"))
    return QuestionSite(options_of(TEXT2SQL_QUERY, named), on_error)


def _key(question: Any, evidence: str | None) -> str | None:
    if question is None:
        return None
    if not isinstance(question, str):
        raise UsageError(f"{TEXT2SQL_QUERY}() takes questions that are text, not {question!r}")
    return json.dumps([question, evidence])
