"""What a text2sql() call is given: DuckDB itself computes its question and options."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb

from relserve.errors import UsageError
from relserve.text2sql.options import Text2SqlOptions
from relserve_duckdb.questions.constants import is_constant
from relserve_duckdb.text.parameters import find_parameters
from relserve_duckdb.text.question_calls import QUESTION, TEXT2SQL, QuestionCall
from relserve_duckdb.text.question_options import options_of


class Question(NamedTuple):
    """A question and how it is to be answered."""

    text: str
    options: Text2SqlOptions


def question_of(
    con: duckdb.DuckDBPyConnection, call: QuestionCall, parameters: Mapping[str, Any]
) -> Question:
    """The question and the options of a call.

    Args:
        con: computes them.
        parameters: of the statement, by name.

    Raises:
        UsageError: they are not constants, or there is no question.
        OptionError: an option is unknown, of the wrong type, or out of range.
    """
    texts = list(call.arguments.values())
    for text in texts:
        if not is_constant(con, text):
            raise _not_constant(text)
    used = {place.name for text in texts for place in find_parameters(text)}
    if missing := sorted(used - parameters.keys()):
        raise UsageError(
            f"text2sql(): nothing is known of parameter ${missing[0]} here; its question has to be known "
            "before the statement is prepared or described"
        )
    given = {name: parameters[name] for name in used}
    try:
        (row,) = con.sql(f"SELECT {', '.join(texts)}", params=given or None).fetchall()
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        raise _not_constant(", ".join(texts)) from error
    values = dict(zip(call.arguments, map(_plain, row), strict=True))
    return Question(checked_text(values.pop(QUESTION)), options_of(TEXT2SQL, values))


def _not_constant(text: str) -> UsageError:
    return UsageError(
        f"text2sql() takes a question and options that are constants or parameters, not {text}; for a "
        "question a row: SELECT text2sql_query(question) FROM .."
    )


def checked_text(value: Any) -> str:
    """A question that is one; raises UsageError."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"text2sql() needs a question, a text that is not empty, not {value!r}")
    return value


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
