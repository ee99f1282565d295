"""PostgreSQL's array literals in a text: drivers that write values into it write a list as '{a,b}'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import duckdb
from relserve_duckdb.text.lexical import ESCAPED, STRING

from relserve.call.option_specs import OPTIONS
from relserve.errors import ProtocolError
from relserve.linking.schema import literal
from relserve.server.client.literals import BETWEEN, CAST, before
from relserve.server.wire.array_values import read_array_text

_TOKENS = re.compile(rf"(?s)(?<![\w$])(?P<escaped>{ESCAPED})|(?P<plain>{STRING})|{BETWEEN}")
_TYPE = r'(?P<type>(?:[\w."]++\s*+(?:\([\d\s,]*+\)\s*+)?+)++)\[\s*+\]'
_MEMBER = re.compile(r"(?is)(?P<is>=|<>|!=)\s*+(?P<which>any|some|all)\s*+\(\s*+\Z")
_LISTS = "|".join(name for name, option in OPTIONS.items() if option.sql_type.endswith("[]"))
_OPTION = re.compile(rf"(?is)(?<!\w)(?:{_LISTS})\s*+(?::=|=>)\s*+\Z")
_CAST_TO = re.compile(rf"(?is)\s++as\s++{_TYPE}")
_TO = re.compile(rf"(?is)\s*+::\s*+{_TYPE}")
_MORE = re.compile(r"\s*+\[")
_END = re.compile(r"\s*+\)")
_SPECIAL = re.compile(r"\\[^\\']")  # of what an escaped text stands for only these two are read here
_WIDE = ("numeric", "decimal", "dec")
_NUMBER = re.compile(r"[+-]?+(?:\d++(?:\.\d*+)?+|\.\d++)")


def with_duckdbs_lists(text: str) -> str:
    """The text with array literals as DuckDB's lists, where they are cast, searched or an option's.

    Everywhere else '{a,b}' stays a text, for nothing in the statement says that it is a list.
    """
    if "'{" not in text:
        return text
    parts, done = [], 0
    for token in _TOKENS.finditer(text):
        held = _held(token)
        found = _put(text, token.start(), token.end(), held) if held is not None else None
        if found is not None:
            start, end, list_ = found
            parts += [text[done:start], list_]
            done = end
    return "".join([*parts, text[done:]])


def _held(token: re.Match[str]) -> str | None:
    """What a literal that may be an array holds."""
    if token["plain"]:
        held = token[0][1:-1].replace("''", "'")
    elif token["escaped"] and not _SPECIAL.search(token[0].replace("\\\\", "")):
        held = re.sub(r"\\(.)", r"\1", token[0][2:-1].replace("''", "'"), flags=re.DOTALL)
    else:
        return None
    return held if held[:1] == "{" and held[-1:] == "}" else None


def _put(text: str, start: int, end: int, held: str) -> tuple[int, int, str] | None:
    """What to put from where to where in place of a literal; None: it is a text."""
    head = before(text, start)
    to = _TO.match(text, end) or (CAST.search(head) and _CAST_TO.match(text, end))
    member = _MEMBER.search(head)
    closing = _END.match(text, end) if member else None
    if not (to or closing or _OPTION.search(head)):
        return None
    try:
        dimensions, values = read_array_text(held, str)
    except ProtocolError:
        return None
    if to:
        return start, to.end(), _cast(values, to, dimensions)
    if member and closing and values and dimensions == 1:
        is_in = member["is"] == "=" and member["which"].lower() != "all"
        if is_in or (member["is"] != "=" and member["which"].lower() == "all"):
            # texts in an IN take its type
            words = "IN" if is_in else "NOT IN"
            return start - len(member[0]), closing.end(), f"{words} ({_list(values)[1:-1]})"
    return start, end, _list(values)


def _cast(values: list[Any], to: re.Match[str], dimensions: int) -> str:
    """A list with its cast; numerics without a precision keep their digits, which DuckDB's DECIMAL cuts."""
    if to["type"].strip().lower() in _WIDE and values and dimensions == 1:
        numbers = [each for each in values if each is not None]
        if numbers and all(map(_NUMBER.fullmatch, numbers)) and to[0].lstrip().startswith("::"):
            return f"[{', '.join('NULL' if each is None else each for each in values)}]"
    return _list(values) + to[0] + "[]" * (dimensions - 1)


def check_dimensions(text: str, values: Sequence[Any]) -> None:
    """See that no array of several dimensions is cast to a list of texts, each of which would be a list's.

    Raises:
        ProtocolError: one is; PostgreSQL's text[] has any number of dimensions.
    """
    for i, value in enumerate(values, 1):
        if not (isinstance(value, duckdb.Value) and str(value.type).endswith("[][]")):
            continue
        for found in re.finditer(rf"\${i}(?!\d)", text):
            to = _TO.match(text, found.end())
            if to and not _MORE.match(text, to.end()):
                depth = len(re.findall(r"\[\]", str(value.type)))
                raise ProtocolError(
                    f"${i} is an array of {depth} dimensions, and is cast to {to['type'].strip()}[]",
                    "0A000",
                    f"Send it as JSON, and cast it so: ${i}::JSON::{to['type'].strip()}{'[]' * depth}.",
                )


def _list(values: list[Any]) -> str:
    return f"[{', '.join(map(_item, values))}]"


def _item(value: Any) -> str:
    if isinstance(value, list):
        return _list(value)
    return "NULL" if value is None else literal(value)
