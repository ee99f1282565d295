"""What a text tells about the type of a parameter, where DuckDB does not tell."""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from relserve.call.option_specs import OPTIONS
from relserve_duckdb.describe.casts import cast
from relserve_duckdb.text.calls import LlmCall, find_calls
from relserve_duckdb.text.statements import parse_tree

COUNT = "BIGINT"  # of LIMIT and OFFSET
_SAME = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.Predicate)


def guesses(text: str, unknown: Container[str]) -> dict[str, str]:
    """Forms of parameters that give them a type, as far as the text suggests one.

    A parameter is taken to be of the type of what it is compared or reckoned with, as in PostgreSQL. DuckDB
    alone knows that type, so the form is a COALESCE of the two.

    Args:
        text: with its parameters numbered: $1, not ?.
        unknown: the parameters to guess.
    """
    root = parse_tree(text)
    if root is None:
        return {}
    calls = find_calls(root)
    found: dict[str, str] = {}
    for node in root.find_all(exp.Placeholder):
        form = _form(node, calls) if node.name in unknown else None
        if form is not None:
            found.setdefault(node.name, form)
    return found


def _form(node: exp.Placeholder, calls: list[LlmCall]) -> str | None:
    own: exp.Expr = node
    while isinstance(own.parent, exp.Paren):
        own = own.parent
    match own.parent:
        case exp.Limit() | exp.Offset():
            return cast(COUNT)
        case exp.Any() | exp.All() as every if isinstance(every.parent, exp.Binary):
            return f"COALESCE({{}}, [{_other(every.parent, every)}])"
        case exp.Binary() as both if isinstance(both, _SAME) and not isinstance(both, exp.Is):
            return f"COALESCE({{}}, {_other(both, own)})"
    return _of_option(own, calls)


def _other(both: exp.Binary, one: exp.Expr) -> str:
    """The other operand."""
    other = both.expression if both.this is one else both.this
    return str(other.sql("duckdb"))


def _of_option(node: exp.Expr, calls: list[LlmCall]) -> str | None:
    """The form of a parameter that is an option of an llm call."""
    for call in calls:
        for name, given in call.options.items():
            if given is node and name in OPTIONS and OPTIONS[name].sql_type != "ANY":
                return cast(OPTIONS[name].sql_type)
    return None
