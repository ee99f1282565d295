"""`CALL llm_materialize(..)` and `CALL llm_refresh(..)`, each a statement of its own, as they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import duckdb
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from relserve.errors import UsageError
from relserve.linking.schema import literal
from relserve_duckdb.text.lexical import LEAD
from relserve_duckdb.text.parameters import find_parameters, numbered
from relserve_duckdb.text.tokens import argument_name, arguments, closing, tokens_of

MATERIALIZE, REFRESH = "llm_materialize", "llm_refresh"
ON_CHANGE = ("raise", "ask", "keep")
_NAMES = {
    MATERIALIZE: ("table_name", "column_name", "expression", "on_change"),
    REFRESH: ("table_name", "column_name", "on_change"),
}
_STATEMENT = re.compile(LEAD + rf"(explain\s++)?+call\s++({MATERIALIZE}|{REFRESH})\s*+\(")
_HOW = {
    MATERIALIZE: f"CALL {MATERIALIZE}('table', 'column', 'expression')",
    REFRESH: f"CALL {REFRESH}('table', 'column')",
}


class FreshCall(NamedTuple):
    """One such statement.

    Attributes:
        table, column: as they are written.
        expression: None: the one that is remembered.
        on_change: what to do where the expression or the model is another than before: one of ON_CHANGE.
        only_explains: EXPLAIN stands before it.
    """

    table: str
    column: str
    expression: str | None
    on_change: str
    only_explains: bool

    def again(self, on_change: str) -> str:
        """The statement that does the same with another `on_change`."""
        function = REFRESH if self.expression is None else MATERIALIZE
        given = [self.table, self.column, *([] if self.expression is None else [self.expression])]
        written = ", ".join(map(literal, given))
        return f"CALL {function}({written}, on_change := '{on_change}')"


def mentions_calls(text: str) -> bool:
    """Whether a text may be such a statement."""
    return MATERIALIZE in text.lower() or REFRESH in text.lower()


def is_call(text: str) -> bool:
    """Whether a text is such a statement; raises UsageError where a call stands inside another one."""
    if not mentions_calls(text):
        return False
    if _STATEMENT.match(text) is None:
        _refuse_inside(text)
        return False
    return True


def read_call(con: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, Any]) -> FreshCall:
    """What such a statement is given.

    Args:
        con: computes the arguments.
        parameters: of the statement, by name.

    Raises:
        UsageError: its arguments are wrong.
    """
    found = _STATEMENT.match(text)
    assert found is not None, "see is_call"
    function = found[2].lower()
    given = _arguments(con, function, text[found.end() - 1 :], parameters)
    on_change = given.pop("on_change", None) or "raise"
    if on_change not in ON_CHANGE:
        raise UsageError(f"{function}(): on_change is one of {', '.join(ON_CHANGE)}, not {on_change!r}")
    for name in _NAMES[function][:-1]:
        if not isinstance(given.get(name), str) or not given[name].strip():
            raise UsageError(f"{function}() needs {name}, a text, not {given.get(name)!r}: {_HOW[function]}")
    table, column, *expression = (given[name] for name in _NAMES[function][:-1])
    return FreshCall(table, column, expression[0] if expression else None, on_change, found[1] is not None)


def _refuse_inside(text: str) -> None:
    try:
        tokens = tokens_of(text)
    except SqlglotError:
        return
    for name, bracket in pairwise(tokens):
        function = name.text.lower()
        if function in _HOW and name.token_type is TokenType.VAR and bracket.token_type is TokenType.L_PAREN:
            raise UsageError(
                f"{function}() changes a table, so it is a statement of its own: {_HOW[function]}"
            )


def _arguments(
    con: duckdb.DuckDBPyConnection, function: str, text: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of what stands in brackets, by name."""
    text = numbered(text)
    tokens = tokens_of(text)
    end = closing(tokens, 0)
    texts: dict[str, str] = {}
    names = _NAMES[function]
    for i, span in enumerate(arguments(tokens, 1, end)):
        key = argument_name(tokens, span)
        first = span.first if key is None else span.first + 2
        if key is None and i < len(names) - 1:
            key = names[i]
        if key not in names or key in texts:
            raise UsageError(f"{function}() takes {', '.join(names)}, the last by name: {_HOW[function]}")
        texts[key] = text[tokens[first].start : tokens[span.last].end + 1]
    used = {place.name for each in texts.values() for place in find_parameters(each)}
    given = {name: parameters[name] for name in used if name in parameters}
    if not texts:
        return {}
    try:
        (row,) = con.execute(f"SELECT {', '.join(texts.values())}", given or None).fetchall()
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.InvalidInputException) as error:
        raise UsageError(f"{function}() takes texts and parameters, not columns: {error}") from error
    return dict(zip(texts, row, strict=True))
