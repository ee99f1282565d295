"""Expressions of DuckDB's plan with the llm calls as users write them, not as the macros expand them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from relserve.call.options import FUNCTIONS
from relserve.linking.schema import literal
from relserve_duckdb.text.call_limits import TEXT2SQL_QUERY
from relserve_duckdb.text.lexical import NAME, STRING
from relserve_duckdb.text.plans import CALL
from relserve_duckdb.udf.site import UNSET

_TOKENS = re.compile(rf"{STRING}|{NAME}|\w++\(?+|[()\[\]{{}},]|[^'\"\w()\[\]{{}},]++|.", re.S)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_UNSET = (f"{{'{UNSET}': true}}", "struct_pack(true)")  # as planned, and as bound
_OPTIONS = re.compile(r"\s*CAST\(to_json\(\{(.*)\}\) AS VARCHAR\)", re.S)  # as bound; as planned it is text
_CHECKED = re.compile(  # options, as bound
    r"CASE\s++WHEN \(?+regexp_matches\('STRUCT\(__relserve_0 (?>.*? ELSE )(.*) END", re.S
)
_FILTER, _NOT_NULL = ") FILTER (WHERE (", " IS NOT NULL))"
_TYPED = tuple(f"{name}(" for name, spec in FUNCTIONS.items() if spec.is_json)


def with_user_calls(expression: str) -> str:
    """An expression as DuckDB's plan writes it, its llm calls as in `llm('Is it {}?', body, seed := 1)`."""
    return ",".join(_arguments(_tokens(expression)))


def _tokens(expression: str) -> Iterator[str]:
    return iter(_TOKENS.findall(expression))


def _arguments(tokens: Iterator[str]) -> list[str]:
    """What stands between commas up to the closing bracket, or to the end, rewritten."""
    arguments = [""]
    for token in tokens:
        if token in _CLOSING.values():
            break
        if token == ",":
            arguments.append("")
        elif token[-1] in _CLOSING:
            arguments[-1] += _written(token, _arguments(tokens))
        else:
            arguments[-1] += token
    return arguments


def _written(head: str, arguments: list[str]) -> str:
    """A bracketed expression, such as a call; `head` ends with the opening bracket."""
    if head == "__internal_barrier(":
        inner = ",".join(arguments)
        typed = re.fullmatch(r"from_json\((.*)\)", inner, re.S)
        return _arguments(_tokens(typed[1]))[0] if typed and typed[1].startswith(_TYPED) else inner
    if CALL.fullmatch(head) and len(arguments) > 3:
        return _call(head, arguments)
    return f"{head}{','.join(arguments)}{_CLOSING[head[-1]]}"


def _call(head: str, arguments: list[str]) -> str:
    function = CALL.sub(r"\1", head)
    if function == TEXT2SQL_QUERY:
        return _question_call(arguments)
    template, options, _, *values = (each.strip() for each in arguments)  # the third is the connection's key
    if checked := _CHECKED.fullmatch(options):
        options = checked[1].strip()
    if FUNCTIONS[function].aggregate:
        return _aggregate(function, template, values[0], _named(options))
    given = [each for each in values if each not in _UNSET]
    asked = [] if FUNCTIONS[function].template else [template]
    return f"{function}({', '.join([*asked, *given, *_named(options)])})"


def _question_call(arguments: list[str]) -> str:
    question, options, _, evidence = (each.strip() for each in arguments)
    evidence = _without_cast(evidence, "VARCHAR")
    named = [f"evidence := {evidence}"] if evidence != "NULL" else []
    return f"{TEXT2SQL_QUERY}({', '.join([question, *named, *_named(options)])})"


def _aggregate(function: str, template: str, group: str, named: list[str]) -> str:
    """A call about the values of a group, which are `list(..)` as it is planned, or already a column."""
    if (plain := _plain_group(group)) is not None:
        return f"{function}({', '.join([template, plain, *named])})"
    group = _without_cast(group, "VARCHAR[]")
    tokens = _tokens(group)
    if next(tokens, "") != "list(":
        return f"{function}({', '.join([template, group, *named])})"
    value, order = _split_order(",".join(_arguments(tokens)))
    distinct = "DISTINCT " if value.startswith("DISTINCT ") else ""
    arguments = ", ".join([distinct + template, value.removeprefix(distinct), *named])
    return f"{function}({arguments}{order}){''.join(tokens)}"


def _plain_group(group: str) -> str | None:
    """What llm_agg collects where it stands for `list(v ORDER BY v ..) FILTER (WHERE (v IS NOT NULL))`.

    With DISTINCT, ORDER BY, FILTER or OVER of the user's it stands for something else.
    """
    head, _, rest = group.strip().rpartition(_FILTER)
    if not rest.endswith(_NOT_NULL):
        return None
    value = rest.removesuffix(_NOT_NULL)
    texts = (f"CAST({value} AS VARCHAR)", value)
    return next((text for text in texts if head.startswith(f"list({text} ORDER BY {text} ")), None)


def _without_cast(expression: str, kind: str) -> str:
    """What is cast to a type, where an expression is such a cast."""
    end = f" AS {kind})"
    is_cast = expression.startswith("CAST(") and expression.endswith(end)
    return expression.removeprefix("CAST(").removesuffix(end) if is_cast else expression


def _split_order(arguments: str) -> tuple[str, str]:
    """What stands before ORDER BY, and the rest."""
    depth, before = 0, ""
    for token in _tokens(arguments):
        if depth == 0 and token == "ORDER":
            break
        depth += (token[-1] in _CLOSING) - (token in _CLOSING.values())
        before += token
    return before.rstrip(), f" {arguments[len(before) :]}" if len(before) < len(arguments) else ""


def _named(options: str) -> list[str]:
    """The options that were given, as `name := value`."""
    if bound := _OPTIONS.fullmatch(options):
        pairs = [each.strip().partition(": ") for each in _arguments(_tokens(bound[1]))]
        return [f"{name.strip(chr(39))} := {value}" for name, _, value in pairs if value != "NULL"]
    try:
        found = json.loads(options[1:-1].replace("''", "'"))
    except ValueError:  # a column decides, which fails when the statement runs
        return [f"options := {options}"]
    return [f"{name} := {_literal(value)}" for name, value in found.items() if value is not None]


def _literal(value: Any) -> str:
    """A value of JSON as SQL."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(each)}' for key, each in value.items())}}}"
    if isinstance(value, str):
        return literal(value)
    return json.dumps(value)
