"""What a text2sql() call is given: DuckDB itself computes its question and options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb

from relserve.errors import UsageError
from relserve.text2sql.options import Text2SqlOptions
from relserve_duckdb.text.parameters import find_parameters
from relserve_duckdb.text.question_calls import QUESTION, TEXT2SQL, QuestionCall
from relserve_duckdb.text.question_options import options_of

_TREE = "SELECT system.main.json_serialize_sql(?::VARCHAR, skip_null := true, skip_default := true)"
_CLASSES = frozenset(["CONSTANT", "PARAMETER", "CAST", "TYPE"])
# Operators, lists, structs, and what DuckDB's parser makes of INTERVAL 1 MINUTE.
_FUNCTIONS = frozenset(
    "|| + - * / list_value struct_pack trunc to_years to_months to_weeks to_days to_hours to_minutes "
    "to_seconds to_milliseconds to_microseconds".split()
)


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


def is_constant(con: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether an expression is made of constants, parameters and casts, lists and sums of them alone.

    EXPLAIN computes it, and so it may have no effect.
    """
    ((answer,),) = con.execute(_TREE, [f"SELECT {text}"]).fetchall()
    tree = json.loads(answer)
    if tree["error"] or len(tree["statements"]) != 1:
        return False
    node = tree["statements"][0]["node"]
    is_plain = node["type"] == "SELECT_NODE" and node["from_table"]["type"] == "EMPTY"
    return is_plain and len(node["select_list"]) == 1 and _is_constant(node["select_list"][0])


def _is_constant(part: Any) -> bool:
    if isinstance(part, list):
        return all(map(_is_constant, part))
    if not isinstance(part, dict):
        return True
    group = part.get("class")
    if group == "FUNCTION":
        is_known = part["qualified_name"]["path"][-1] in _FUNCTIONS
        return is_known and _is_constant(part["arguments"])
    return (group is None or group in _CLASSES) and all(map(_is_constant, part.values()))
